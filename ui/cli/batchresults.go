package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"zonedeck/service/batch"
	"zonedeck/service/view"
)

type batchResultsFlags struct {
	InOrder bool   `flag:"in-order" help:"in the order of the input (default: as they came)"`
	Output  string `flag:"output" takes:"output" short:"o" help:"file for the results"`
	Force   bool   `flag:"force" help:"replace the file of -o"`
}

func (b batchCommands) results() *cobra.Command {
	return command(b.app, spec[batchResultsFlags]{
		use: "results BATCH", short: "Print the results of a batch as NDJSON, a line for each item",
		long: `Prints a line for each item that has a result, also while the batch runs: its
number and URL, class, status, time, size, cost, where its body is, and its row:
"n" counts the items from 1, as 'batch body' does, and "line" is where the row
stands in the input. A row that asks for the same as an earlier one has a line with
"duplicate_of" in place of a result.`,
		needs: func(batchResultsFlags) needs { return needs{journal: true} },
		run: func(ctx context.Context, t *task, f batchResultsFlags, args []string) (printed, error) {
			s, err := t.Batches.Show(ctx, args[0])
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			dest, err := t.app.freshDestination(f.Output, f.Force)
			if err != nil {
				return printed{}, err
			}
			return printed{}, t.writeResults(ctx, s.ID, dest, f.InOrder, "")
		},
	})
}

// resultsFile has the results of a batch, in its folder.
const resultsFile = "results.ndjson"

// writeResults writes the results of a batch as whole lines. bodies is the folder into which its bodies were unpacked.
func (t *task) writeResults(ctx context.Context, id string, to destination, inOrder bool, bodies string) error {
	return to.writeBy(ctx, "the results", func(w io.Writer) error {
		out := bufio.NewWriter(w)
		for line, err := range t.Batches.Answers(ctx, id, inOrder) {
			file := ""
			if bodies != "" && line.SHA256 != "" {
				file = filepath.Join(bodies, line.SHA256)
				if _, missing := os.Lstat(file); missing != nil { // another machine has it
					file = ""
				}
			}
			if err == nil {
				err = view.Encode(out, view.NewBatchLine(line, file))
			}
			if err != nil {
				return errors.Join(out.Flush(), batchError(ctx, err))
			}
		}
		return out.Flush()
	})
}

type batchBodiesFlags struct {
	Output string `flag:"output" takes:"folder" short:"o" help:"folder for the bodies, which are named by their digests (required)"`
	jsonFlag
}

func (b batchCommands) bodies() *cobra.Command {
	return command(b.app, spec[batchBodiesFlags]{
		use: "bodies BATCH", short: "Write the bodies of a batch into a folder, each once, and its results beside them",
		needs: func(batchBodiesFlags) needs { return needs{journal: true} },
		run: func(ctx context.Context, t *task, f batchBodiesFlags, args []string) (printed, error) {
			if f.Output == "" || f.Output == "-" {
				return printed{}, usage("-o is missing: name the folder for the bodies; 'zonedeck batch results' writes the results alone to standard output")
			}
			s, err := t.Batches.Show(ctx, args[0])
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			list := s.ID + ".ndjson" // which nobody else gives a file of his
			folder, err := filepath.Abs(f.Output)
			if err != nil {
				return printed{}, fail(exitState, "%w", err)
			}
			n, err := t.Batches.Unpack(ctx, s.ID, folder, nil)
			absent := errors.As(err, new(batch.AbsentError))
			if err == nil || absent {
				path := filepath.Join(folder, list)
				err = cmp.Or(t.writeResults(ctx, s.ID, destination{name: path, file: path}, true, folder), err)
			}
			out := printed{done: fmt.Sprintf("new bodies in %s: %d; %s has the results with the file of each body", f.Output, n, list)}
			switch {
			case absent:
				return out.withError(batchError(ctx, err))
			case err != nil:
				return printed{}, batchError(ctx, err)
			}
			return out, nil
		},
	})
}

type batchBodyFlags struct {
	Output string `flag:"output" takes:"output" short:"o" help:"file for the body"`
	Force  bool   `flag:"force" help:"replace the file of -o"`
}

func (b batchCommands) body() *cobra.Command {
	return command(b.app, spec[batchBodyFlags]{
		use: "body BATCH N", short: "Print the body of item N, as 'batch results' counts them, from 1",
		needs: func(batchBodyFlags) needs { return needs{} },
		run: func(ctx context.Context, t *task, f batchBodyFlags, args []string) (printed, error) {
			n, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || n < 1 {
				return printed{}, usage("%q is no number of an item: write one from 1 on", args[1])
			}
			s, err := t.Batches.Show(ctx, args[0])
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			dest, err := t.app.freshDestination(f.Output, f.Force)
			if err != nil {
				return printed{}, err
			}
			body, err := t.Batches.Body(ctx, s.ID, n)
			if err != nil {
				return printed{}, batchError(ctx, err)
			}
			defer body.Close()
			return printed{}, dest.writeBy(ctx, "the body", func(w io.Writer) error {
				_, err := io.Copy(w, body)
				return err
			})
		},
	})
}

// freshDestination is the destination of -o, where a file that is there is replaced by force alone.
func (a *app) freshDestination(name string, force bool) (destination, error) {
	dest, err := a.destination(name)
	if dest.fresh = !force; err == nil && dest.fresh && dest.taken {
		err = usage("%s exists; --force replaces it", name)
	}
	return dest, err
}
