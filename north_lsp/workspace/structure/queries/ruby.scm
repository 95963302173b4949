(class name: (_) @name) @class
(module name: (_) @name) @module
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(call method: (identifier) @_called (#match? @_called "^require(_relative)?$")) @import
