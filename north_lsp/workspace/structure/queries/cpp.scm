(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name))) @function
(field_declaration declarator: (function_declarator declarator: (_) @name)) @method
(field_declaration
  declarator: [
    (reference_declarator (function_declarator declarator: (_) @name))
    (pointer_declarator declarator: (function_declarator declarator: (_) @name))
  ]) @method
(field_declaration_list
  (declaration
    declarator: (function_declarator declarator: [(identifier) (destructor_name) (operator_name)] @name)) @method)
(class_specifier name: (_) @name body: (_)) @class
(namespace_definition name: (_) @name) @namespace
(alias_declaration name: (_) @name) @type
(concept_definition name: (_) @name) @type
(using_declaration) @import
