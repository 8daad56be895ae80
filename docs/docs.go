// Package docs has the pages of which the program shows parts: examples in its help, tables in its man page.
package docs

import _ "embed"

// Commands says what each command is for, with examples and the exit codes.
//
//go:embed commands.md
var Commands string

// Configuration says what the config file, the environment and the folders are for.
//
//go:embed configuration.md
var Configuration string
