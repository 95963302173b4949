(namespace_declaration name: (_) @name) @namespace
(file_scoped_namespace_declaration name: (_) @name) @namespace
(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(struct_declaration name: (_) @name) @struct
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(delegate_declaration name: (_) @name) @type
(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(destructor_declaration name: (_) @name) @method
(operator_declaration operator: _ @name) @method
(indexer_declaration "this" @name) @property
(event_field_declaration (variable_declaration (variable_declarator name: (_) @name))) @property
(local_function_statement name: (_) @name) @function
(property_declaration name: (_) @name) @property
(using_directive) @import
