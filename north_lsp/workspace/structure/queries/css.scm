(rule_set) @rule
(media_statement) @media
(keyframes_statement) @keyframes
(supports_statement) @supports
(at_rule) @at-rule
(import_statement) @import
