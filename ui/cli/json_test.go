package cli

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"zonedeck/service/view"
)

// withoutJSON gives the commands without --json, and why.
var withoutJSON = map[string]string{
	"zonedeck":            "it is the console",
	"zonedeck help":       "it is for people",
	"zonedeck man":        "it is for people",
	"zonedeck completion": "it prints a script",
	"zonedeck har":        "a HAR file is JSON",
	"zonedeck mcp":        "its standard output is the protocol",

	"zonedeck batch body":    "it prints the body",
	"zonedeck batch results": "its lines are JSON",
	"zonedeck worker":        "it says what it does on stderr until it ends",
}

// versioned returns an error unless the output is JSON objects with the version of their schema.
func versioned(stdout string) error {
	d := json.NewDecoder(strings.NewReader(stdout))
	for n := 0; ; n++ {
		var object struct {
			Version int `json:"schema_version"`
		}
		switch err := d.Decode(&object); {
		case errors.Is(err, io.EOF) && n > 0:
			return nil
		case err != nil:
			return err
		case object.Version != view.SchemaVersion:
			return errors.New("an object has no schema_version")
		}
	}
}
