// Mutate asks whether the tests notice mistakes: it makes one small mistake at a
// time in the product's code (a mutant), runs the tests that reach it, and counts
// how many mutants a failing test kills. Run it from the top of the repository:
//
//	go run ./.ci/mutate -n 300 -seed 1
//
// The same seed on the same code draws the same mutants. Sources are not touched:
// a mutant is compiled with go test -overlay, and the tests get a home and a
// temporary folder of their own, and at most 4 GiB of memory.
//
// The mistakes: a comparison or its boundary, + and - and * and /, && and ||, a
// negated condition, a condition that never holds (which drops error checks), a
// dropped statement, defer or else, another result, a number one higher or lower.
// With -tables they are others: a row of a table is dropped, or one of its words
// misspelt, in the lists and maps of a package's variables and in its embedded
// .tsv files. Tests of -skip are not asked then: a page that is written from the
// tables says nothing of what they are for.
// Sizes and durations (1<<20, 5*time.Second), capacities and numbers from 1,000
// stay: they are choices, and no test should repeat them. So do values beside an
// error.
//
// Tests run in the mutant's own package first and then in every package whose
// tests reach the mutated line, until one fails. What failed has to fail twice,
// because a busy machine fails a test once. Tests that take several times longer
// than without the mutant are run again with more time while no other mutant runs,
// and count as failed when that is not enough; the report says how many did. A
// mutant that does not compile is not counted; neither is one that equivalent.txt
// lists with a reason.
// Survivors are printed in the form of that file. The exit code is 1 when fewer
// than 90 % of the mutants were killed.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"
)

// enough is the share of mutants, in percent, that has to be killed.
const enough = 90

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	n := flag.Int("n", 300, "how many mutants to run")
	seed := flag.Uint64("seed", 1, "draws the mutants")
	in := flag.String("in", "", "mutate only these files, or what is below these folders (comma between them)")
	budget := flag.Duration("budget", 2*time.Hour, "start no mutant after this time")
	jobs := flag.Int("j", 2, "mutants at a time")
	own := flag.Bool("own", false, "ask only the tests of the mutant's own package")
	tables := flag.Bool("tables", false, "mutate the rows of tables, not the code")
	skip := flag.String("skip", "^TestDiagnosisPage$", "with -tables, do not ask these tests")
	list := flag.Bool("list", false, "print the mutants and run none")
	flag.Parse()

	scratch, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	h, err := newHouse(ctx, scratch)
	if err != nil {
		return err
	}
	code, rows, err := h.mutants()
	if err != nil {
		return err
	}
	known, err := readEquivalents(".ci/mutate/equivalent.txt")
	if err != nil {
		return err
	}
	if err := known.stale(slices.Concat(code, rows)); err != nil {
		return err
	}
	if *tables {
		code, h.skip = rows, *skip
	}
	drawn := draw(code, *in, *seed)
	if *own {
		h.askOwn(drawn)
	}
	if *list {
		for _, m := range drawn[:min(*n, len(drawn))] {
			fmt.Println(m)
		}
		return nil
	}
	fmt.Printf("%d mutants to draw from; running the tests without any\n", len(drawn))
	if err := h.measure(ctx); err != nil {
		return err
	}
	r := &report{counts: map[string]*count{}}
	began := time.Now()
	inTime := func() bool { return ctx.Err() == nil && time.Since(began) < *budget }
	h.runAll(ctx, drawn, *n, *jobs, inTime, known, r)
	return r.print(*n, *seed, time.Since(began))
}

// draw shuffles the mutants of the folders that were asked for.
func draw(all []mutant, in string, seed uint64) []mutant {
	drawn := slices.DeleteFunc(slices.Clone(all), func(m mutant) bool {
		return in != "" && !slices.ContainsFunc(strings.Split(in, ","), func(folder string) bool {
			return m.file == folder || strings.HasPrefix(m.file, strings.Trim(folder, "/")+"/")
		})
	})
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	return drawn
}

// verdict is what became of a mutant.
type verdict int

const (
	killed   verdict = iota
	timedOut         // killed, too
	survived
	equivalent
	invalid // it does not compile
)

// runAll runs drawn mutants until n of them count or time is up.
func (h *house) runAll(ctx context.Context, drawn []mutant, n, jobs int, inTime func() bool, known equivalents, r *report) {
	next := make(chan mutant)
	var wg sync.WaitGroup
	for range max(jobs, 1) {
		wg.Go(func() {
			for m := range next {
				v := equivalent
				if !known.has(m) {
					v = h.try(ctx, m)
				}
				if ctx.Err() != nil {
					return // it was interrupted, so the verdict means nothing
				}
				r.add(m, v)
			}
		})
	}
	for _, m := range drawn {
		// A mutant on its way may turn out not to count, so a few are left out
		// of this sum; the last ones make the total n or a little more.
		if r.counted() >= n || !inTime() {
			break
		}
		select {
		case next <- m:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
}

// count is the tally of a package; late are those of the killed whose tests did
// not end.
type count struct{ killed, late, survived, equivalent, invalid int }

// report collects verdicts; it is safe for concurrent use.
type report struct {
	mu     sync.Mutex
	counts map[string]*count
	done   int
}

func (r *report) add(m mutant, v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts[m.pkg]
	if c == nil {
		c = &count{}
		r.counts[m.pkg] = c
	}
	switch v {
	case killed, timedOut:
		c.killed++
		r.done++
		if v == timedOut {
			c.late++
		}
	case survived:
		c.survived++
		r.done++
		fmt.Printf("\nline %d\n%s\n", m.line, m)
	case equivalent:
		c.equivalent++
	case invalid:
		c.invalid++
	}
}

func (r *report) counted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

func (r *report) print(n int, seed uint64, took time.Duration) error {
	var sum count
	fmt.Printf("\n%-32s %7s %9s %9s %11s %15s\n", "package", "killed", "by time", "survived", "equivalent", "did not compile")
	row := func(name string, c count) {
		fmt.Printf("%-32s %7d %9d %9d %11d %15d\n", name, c.killed, c.late, c.survived, c.equivalent, c.invalid)
	}
	for _, pkg := range slices.Sorted(maps.Keys(r.counts)) {
		c := *r.counts[pkg]
		row(pkg, c)
		sum.killed += c.killed
		sum.late += c.late
		sum.survived += c.survived
		sum.equivalent += c.equivalent
		sum.invalid += c.invalid
	}
	row("all", sum)
	ran := sum.killed + sum.survived
	share := 100 * float64(sum.killed) / float64(cmp.Or(ran, 1))
	fmt.Printf("\nseed %d: %d of %d mutants killed (%.1f %%), %d of them by time, in %s\n", seed, sum.killed, ran, share, sum.late, took.Round(time.Second))
	if ran < n {
		fmt.Printf("%d mutants were asked for; there was no time or there were no more\n", n)
	}
	if share < enough {
		return fmt.Errorf("fewer than %d %% were killed", enough)
	}
	return nil
}
