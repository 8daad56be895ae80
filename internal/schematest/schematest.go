// Package schematest holds what the program prints against the schemas of docs/schema.
// Tests alone import it.
package schematest

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/jsonschema-go/jsonschema"
)

// Check says where a JSON value differs from the schema in a file.
func Check(file string, value []byte) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	return resolved.Validate(v)
}
