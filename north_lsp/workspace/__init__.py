"""The repository: roots, safe paths, ignore rules, texts, search, diffs and applying changes. Knows no tool and no protocol."""
