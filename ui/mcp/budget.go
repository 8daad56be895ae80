package mcp

import (
	"math"
	"sync"

	"zonedeck/model"
)

// budget is what is left of the rules' amounts. What a call may cost at most is taken
// before it is sent, and what it did not cost is given back afterwards, so that calls side
// by side do not pass the cap together.
type budget struct {
	rules  Rules
	mu     sync.Mutex
	taken  float64 // dollars that were spent or are held for calls under way
	inputs int     // that jobs were started with, or are being
}

// reserve holds what a call may cost at most, or refuses it. Of one that is not priced, most is
// what is known of it: the rules may allow the rest. settle is called once, with what it did cost.
func (b *budget) reserve(most float64, priced bool) (settle func(cost float64), err error) {
	if !b.rules.Capped {
		return func(float64) {}, nil
	}
	if !priced && !b.rules.Unpriced {
		return nil, refuse("--max-cost", "what this call costs is not known, and there is a cap of %s: the zone needs a rate in the profile, or the operator has to give --allow-unpriced", model.SmallDollars(b.rules.Cost))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if math.IsNaN(most) || most < 0 || b.taken+most > b.rules.Cost+1e-9 {
		return nil, refuse("--max-cost", "it may cost up to %s, and %s of the cap of %s are left; calls under way hold what they may cost",
			model.SmallDollars(most), model.SmallDollars(b.rules.Cost-b.taken), model.SmallDollars(b.rules.Cost))
	}
	b.taken += most
	return func(cost float64) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.taken += cost - most
	}, nil
}

// remaining is what may still be spent, nil without a cap.
func (b *budget) remaining() *float64 {
	if !b.rules.Capped {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	left := math.Round((b.rules.Cost-b.taken)*1e9) / 1e9
	return &left
}

// takeInputs holds the inputs of a job, or refuses it. giveBack is called when it is certain
// that the job was not started.
func (b *budget) takeInputs(n int) (giveBack func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.rules.Inputs-b.inputs {
		return nil, refuse("--job-inputs", "the job has %d inputs, and %d of the %d for jobs are left", n, b.rules.Inputs-b.inputs, b.rules.Inputs)
	}
	b.inputs += n
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.inputs -= n
	}, nil
}
