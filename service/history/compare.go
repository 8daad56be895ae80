package history

import (
	"context"
	"fmt"
	"io"

	"zonedeck/service/compare"
	"zonedeck/service/database"
)

// ErrNone says that what was asked for is not kept.
var ErrNone = database.ErrNotFound

type (
	// Answer is a fetch with the beginning of its body.
	Answer = compare.Answer
	// Difference is how two of them differ.
	Difference = compare.Difference
	// Change is one thing in which two fetches differ.
	Change = compare.Change
)

// Answer reads a fetch with at most so many bytes of its body.
func (h *History) Answer(ctx context.Context, id string, most int64) (Answer, error) {
	res, err := h.LoadFetch(ctx, id)
	if err != nil {
		return Answer{}, err
	}
	body, err := h.OpenText(res.Body)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = body.Close() }() // it was only read
	begin, err := io.ReadAll(io.NewSectionReader(body, 0, min(body.Size, most)))
	return Answer{Result: res, Body: begin, More: body.Size > most}, err
}

// Difference compares two fetches; names are what they are called in it. Nothing is sent.
func (h *History) Difference(ctx context.Context, names, ids [2]string) (Difference, error) {
	var answers [2]Answer
	for i := range ids {
		var err error
		if answers[i], err = h.Answer(ctx, ids[i], compare.MaxText); err != nil {
			return Difference{}, fmt.Errorf("%s: %w", names[i], err)
		}
		answers[i].Name = names[i]
	}
	return compare.Answers(answers[0], answers[1])
}
