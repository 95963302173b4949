(class_declaration name: (_) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (_) @name) @method
(lexical_declaration
  (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]))
  @function
(variable_declaration
  (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]))
  @function
(lexical_declaration (variable_declarator name: (identifier) @name value: (class))) @class
(lexical_declaration
  (variable_declarator
    name: (identifier) @name
    value: (call_expression
      function: [(identifier) @_called (member_expression property: (property_identifier) @_called)]
      arguments: (arguments . [(arrow_function) (function_expression)])))
  (#match? @_called "^(memo|forwardRef|observer)$")) @function
(expression_statement
  (assignment_expression left: (member_expression) @name right: [(arrow_function) (function_expression)])) @function
(import_statement) @import
(export_statement !declaration) @export
