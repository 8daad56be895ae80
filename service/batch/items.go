package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"

	"zonedeck/model"
	"zonedeck/service/batch/files"
)

// Result is what became of an item.
type Result = files.Line

// Row is a row of the input, as an item has it.
type Row struct {
	Line   int                        `json:"line"` // of the input, from 1
	Values map[string]json.RawMessage `json:"row"`
}

// Answer is a result with the row that it is of, or a duplicate, which has no result of its own.
type Answer struct {
	Result
	Row
	DuplicateOf int64 // the item that asks for the same, from 1; 0 for a result
}

// slicesKept bounds the slices whose rows are in memory.
const slicesKept = 64

// itemReader reads items of a batch. After the first fault it gives empty ones.
type itemReader struct {
	slice  func(n int) ([]files.Item, error)
	cached map[int][]files.Item
	fault  error
}

func (r *itemReader) item(n int64) (it files.Item) {
	at := int(n / files.SliceItems)
	if r.fault == nil && r.cached[at] == nil {
		if len(r.cached) == slicesKept {
			clear(r.cached)
		}
		r.cached[at], r.fault = r.slice(at)
	}
	if r.fault == nil {
		it = r.cached[at][n%files.SliceItems]
	}
	return it
}

func (r *itemReader) row(it files.Item) (row Row) {
	if r.fault == nil {
		r.fault = json.Unmarshal(it.Line, &row)
	}
	return row
}

// duplicates gives those from one number up to another, and reports whether yield wants more.
func (r *itemReader) duplicates(from, upTo int64, yield func(Answer, error) bool) (more bool) {
	for more = true; more && from < upTo && r.fault == nil; from++ {
		if it := r.item(from); r.fault == nil && it.Duplicate >= 0 {
			more = yield(Answer{Result{N: from}, r.row(it), it.Duplicate + 1}, nil)
		}
	}
	return more
}

// Answers gives the results of a batch as Results does, each with its row, and the duplicates: at their places, or behind
// the results. If the rows cannot be read, the results come without them, and then the error.
func (b *Batches) Answers(ctx context.Context, id string, inOrder bool) iter.Seq2[Answer, error] {
	return func(yield func(Answer, error) bool) {
		s, fault := b.Show(ctx, id)
		slice, done, err := b.items(ctx, id)
		if err == nil {
			defer done()
		}
		items := itemReader{slice, map[int][]files.Item{}, cmp.Or(fault, err)}
		all, next := s.Items, int64(0)
		if s.Duplicates == 0 {
			all = 0
		}
		for line, err := range b.Results(ctx, id, inOrder) {
			if inOrder && err == nil {
				if !items.duplicates(next, min(line.N, all), yield) {
					return
				}
				next = line.N
			}
			answer := Answer{Result: line}
			if err == nil {
				answer.Row = items.row(items.item(line.N))
			}
			if !yield(answer, err) || err != nil {
				return
			}
		}
		if items.duplicates(next, all, yield) && items.fault != nil {
			yield(Answer{}, items.fault)
		}
	}
}

// Newest gives the newest results of a batch, at most n, the newest first; failed leaves those out that are ok. It reads
// all results.
func (b *Batches) Newest(ctx context.Context, id string, n int, failed bool) ([]Result, error) {
	var newest []Result
	for line, err := range b.Results(ctx, id, false) {
		if err != nil {
			return nil, err
		}
		if failed && line.Class == string(model.ClassOK) {
			continue
		}
		if len(newest) == 2*n {
			newest = slices.Clone(newest[n:])
		}
		newest = append(newest, line)
	}
	newest = newest[max(0, len(newest)-n):]
	slices.Reverse(newest)
	return newest, nil
}

// item gives an item of a batch; n counts from 0.
func (b *Batches) item(ctx context.Context, s State, n int64) (files.Item, error) {
	if n < 0 || n >= s.Items {
		return files.Item{}, model.BadField("item", "batch %s has items 1 to %d", s.ID, s.Items)
	}
	slice, done, err := b.items(ctx, s.ID)
	if err != nil {
		return files.Item{}, err
	}
	defer done()
	of, err := slice(int(n / files.SliceItems))
	if err != nil {
		return files.Item{}, err
	}
	return of[n%files.SliceItems], nil
}

// Request gives what is sent for an item, without its secrets; n counts from 0. Nothing is looked up for it.
func (b *Batches) Request(ctx context.Context, id string, n int64) (model.FetchRequest, error) {
	s, err := b.Show(ctx, id)
	if err != nil {
		return model.FetchRequest{}, err
	}
	it, err := b.item(ctx, s, n)
	if err != nil {
		return model.FetchRequest{}, err
	}
	row, err := rowOf(it.Line)
	if err != nil {
		return model.FetchRequest{}, err
	}
	plan, err := b.ours(ctx, s.Plan)
	if err != nil {
		return model.FetchRequest{}, err
	}
	template := plan.Request
	r, problems := template.Resolve(func(name string) (model.Variable, bool) {
		if ref, ok := template.Secrets[name]; ok {
			return model.Variable{Ref: ref}, true
		}
		value, ok := row(name)
		return model.Variable{Value: value}, ok
	})
	if len(problems) > 0 {
		return r, &model.RequestError{Problems: problems}
	}
	return r, nil
}

// Folder is where a batch's results and bodies are.
func (b *Batches) Folder(id string) string { return b.dir(id) }
