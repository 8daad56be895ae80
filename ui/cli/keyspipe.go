package cli

import (
	"context"
	"os/exec"
	"strings"
	"time"

	"zonedeck/keystore"
)

// pipeValue gives a rotation's new value to a command on its standard input. What the command prints
// may hold the value, and is dropped.
func (t *task) pipeValue(ctx context.Context, command string, p keystore.RotationPlan) error {
	words, err := keystore.Words(command)
	if err != nil {
		return usage("--pipe: %w", err)
	}
	value, err := t.Resolver.Resolve(ctx, p.NewHeld)
	if err != nil {
		return fail(exitState, "the new value: %w", err)
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdin, cmd.WaitDelay = strings.NewReader(value.Reveal()), time.Second
	if err := cmd.Run(); err != nil {
		return fail(exitChecksFailed, "--pipe: %w; what the command printed is not shown, because it may hold the value", err)
	}
	t.app.say("zonedeck: the new value (••••%s) was given to the command", value.Last4())
	return nil
}
