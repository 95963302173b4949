(function_declaration name: (_) @name) @function
(method_declaration name: (_) @name) @method
(type_declaration (type_spec name: (_) @name type: (struct_type))) @struct
(type_declaration (type_spec name: (_) @name type: (interface_type))) @interface
(type_spec name: (_) @name) @type
(type_alias name: (_) @name) @type
(import_declaration) @import
