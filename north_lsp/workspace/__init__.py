"""The user's files: roots, paths, ignore rules, texts, search, diffs, applying changes. Knows no tool and no
protocol."""
