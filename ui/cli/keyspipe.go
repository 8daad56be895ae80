package cli

import (
	"context"
	"os/exec"
	"strings"
	"time"

	"zonedeck/keystore"
)

// pipeValue gives the new key value or password of a rotation to a command on its standard input. The command's output
// may hold the value and is dropped.
func (t *task) pipeValue(ctx context.Context, command string, p keystore.RotationPlan) error {
	words, err := keystore.SplitArgs(command)
	if err != nil {
		return usage("--pipe: %w", err)
	}
	value, err := t.Resolver.Resolve(ctx, p.NewHeld)
	if err != nil {
		return fail(exitState, "the new %s: %w", p.Value(), err)
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdin, cmd.WaitDelay = strings.NewReader(value.Reveal()), time.Second
	if err := cmd.Run(); err != nil {
		return fail(exitChecksFailed, "--pipe: %w; what the command printed is not shown, because it may hold the %s", err, p.Value())
	}
	t.app.say("zonedeck: the new %s (••••%s) was given to the command", p.Value(), value.Last4())
	return nil
}
