(namespace_definition name: (_) @name) @namespace
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(trait_declaration name: (_) @name) @trait
(enum_declaration name: (_) @name) @enum
(function_definition name: (_) @name) @function
(method_declaration name: (_) @name) @method
(namespace_use_declaration) @import
