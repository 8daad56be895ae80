package importers

import (
	"strings"
	"testing"
)

// The parser of the shell's language calls itself: what is nested as deeply as the bound on
// the size allows is read or refused, and does not end the process.
func TestDeepNestingEndsInARefusal(t *testing.T) {
	for name, piece := range map[string]string{
		"if": "if ", "while": "while ", "time": "time ", "minus": "-(", "block": "{ ", "subshell": "(", "not": "! ", "test": "[[ ! ", "brace": "{a,", "double": `"$(`,
		"backquote": "`", "parameter": "${a:-", "process": "<(", "case": "case a in a) ", "function": "f()", "array": "a=(", "heredoc": "<<A ", "arithmetic": "$((1+(", "and": "a&&",
	} {
		for _, begin := range []string{"curl ", "curl http://lab.test/ $((", "curl http://lab.test/; "} {
			text := begin + strings.Repeat(piece, (maxText-len(begin))/len(piece))
			if _, err := Curl(text, Known{Profile: testProfile()}); err != nil && len(err.Error()) > 300 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
