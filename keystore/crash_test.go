package keystore

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// crashing is the variable that has the test program die of a panic with a secret at hand.
const crashing = "ZONEDECK_TEST_CRASHES"

// What Go prints for a panic shows only the mask of a secret, whatever the panic is about and whatever the
// goroutines' arguments are.
func TestACrashPrintsNoSecret(t *testing.T) {
	if about := os.Getenv(crashing); about != "" {
		crash(about, NewSecret(sample))
	}
	for about, want := range map[string]string{
		"the secret": "panic: ", "an error": "panic: asking with ••••f2a1 {Value:••••f2a1}", "a string": "panic: ••••f2a1",
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), crashing+"="+about, "GOTRACEBACK=all")
		out, err := cmd.CombinedOutput()
		if text := string(out); err == nil || !strings.Contains(text, want) || !strings.Contains(text, "keystore.crash.func1(") {
			t.Errorf("%s: no such crash, %v: %s", about, err, text)
		}
		if at := strings.Index(string(out), sample[:12]); at >= 0 {
			t.Errorf("%s: the value stands at byte %d", about, at)
		}
	}
}

// crash panics in a goroutine that has a secret among its arguments.
func crash(about string, secret Secret) {
	done := make(chan bool)
	go func(s Secret, in struct{ Value Secret }) {
		switch about {
		case "the secret":
			panic(s)
		case "an error":
			panic(fmt.Errorf("asking with %v %+v", s, in))
		default:
			panic(s.String())
		}
	}(secret, struct{ Value Secret }{secret})
	<-done
}
