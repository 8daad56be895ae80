package rotate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/rehearsal"
)

// journalled is how many requests of the service's journal are read: all that it keeps.
const journalled = 5000

// markSet records the end of the service's journal when the references were set, and counts the refused calls of
// others since a refresh.
func (r *run) markSet(ctx context.Context) error {
	settings := r.c.Accounts.Settings(r.plan)
	if settings == nil || r.plan.SetSeq != 0 {
		return nil
	}
	page, err := settings.Newest(ctx, journalled)
	if err != nil {
		return err
	}
	refused, _ := since(page, mark{r.plan.DeletedSeq, r.plan.DeletedEntry}, r.stranger)
	return r.note(ctx, func(p *keystore.RotationPlan) {
		p.SetSeq, p.SetEntry = page.Last, newest(page)
		if p.DeletedSeq != 0 { // the calls refused until now belong to the outage
			p.OutageRefused, p.OwnRefused = p.OutageRefused+max(refused-p.OwnRefused, 0), 0
		}
	})
}

// mark is the end of the service's journal when nothing should send the old value any more. A refresh ends the
// value before the references are set, a deletion after.
func (r *run) mark() mark {
	set, deleted := mark{r.plan.SetSeq, r.plan.SetEntry}, mark{r.plan.DeletedSeq, r.plan.DeletedEntry}
	if r.plan.Method == keystore.RotateByRefresh {
		return cmp.Or(set, deleted)
	}
	return cmp.Or(deleted, set)
}

// mark is a place in the service's journal: the number of an entry and its time, which is zero if it is not
// known. In an empty journal the mark is 1 without a time, because 0 means no mark.
type mark struct {
	seq   uint64
	entry time.Time
}

// newest is the time of a journal's newest entry; zero if it has none.
func newest(page rehearsal.Page) (at time.Time) {
	if n := len(page.Requests); n > 0 && page.Requests[n-1].Seq == page.Last {
		at = page.Requests[n-1].Time
	}
	return at
}

// empty reports whether the journal had no entry at the mark.
func (m mark) empty() bool { return m.seq == 1 && m.entry.IsZero() }

// anew reports whether a journal was begun after the mark, as when the emulator was restarted: it ends before
// the mark, or has another entry there.
func (m mark) anew(page rehearsal.Page) bool {
	i := slices.IndexFunc(page.Requests, func(q rehearsal.Request) bool { return q.Seq == m.seq })
	return page.Last < m.seq || i >= 0 && !m.entry.IsZero() && !page.Requests[i].Time.Equal(m.entry)
}

// delete deletes the old key. Before that, the service's journal must show no use of it since the
// references were set.
func (r *run) delete(ctx context.Context, n int) (keystore.Proof, error) {
	if r.plan.Zone != "" {
		return r.removePassword(ctx)
	}
	settings := r.c.Accounts.Settings(r.plan)
	if settings == nil {
		return r.deleted(ctx, n)
	}
	keys, err := settings.Keys(ctx)
	if err != nil {
		return keystore.Proof{}, err
	}
	if _, there := keyNamed(keys, r.plan.OldName); there {
		if err := r.quiet(ctx, n, settings); err != nil {
			return keystore.Proof{}, err
		}
		if r.plan.DeletedSeq == 0 {
			if err := r.markDeleted(ctx, settings); err != nil {
				return keystore.Proof{}, err
			}
		}
		if err := settings.DeleteKey(ctx, r.plan.OldName); err != nil {
			return keystore.Proof{}, fmt.Errorf("deleting %s: %w", r.plan.OldName, err)
		}
		if keys, err = settings.Keys(ctx); err != nil {
			return keystore.Proof{}, err
		}
		if _, there = keyNamed(keys, r.plan.OldName); there {
			return keystore.Proof{}, fmt.Errorf("%s was deleted, and is still listed", r.plan.OldName)
		}
	}
	return keystore.Proof{Note: r.plan.OldName + " is gone from the account"}, nil
}

func (r *run) markDeleted(ctx context.Context, settings Settings) (err error) {
	var page rehearsal.Page
	if settings != nil {
		if page, err = settings.Newest(ctx, 1); err != nil {
			return err
		}
	}
	return r.note(ctx, func(p *keystore.RotationPlan) {
		p.DeletedSeq, p.DeletedEntry, p.OwnRefused = max(page.Last, 1), newest(page), 0
	})
}

// deleted checks by a call whether a person has deleted the old key.
func (r *run) deleted(ctx context.Context, n int) (keystore.Proof, error) {
	words := "in the account settings, delete the old key of " + r.plan.Key + " (••••" + r.plan.OldLast4 + ")"
	if r.plan.OldHeld == "" {
		return keystore.Proof{}, r.stop(n, "%s, then vouch for it: its value is not at hand", words)
	}
	proof, accepted, err := r.tryOld(ctx)
	switch {
	case err != nil:
		return proof, err
	case accepted:
		return proof, r.stop(n, "%s; it is still accepted", words)
	}
	proof.Note = "it is refused"
	return proof, nil
}

// tryOld makes a call with the old value between two calls with the new one to the same service. A refusal of the
// old value proves something only if the service accepts the new one.
func (r *run) tryOld(ctx context.Context) (proof keystore.Proof, accepted bool, err error) {
	if err := r.control(ctx); err != nil {
		return proof, false, err
	}
	if proof, accepted, err = r.callOld(ctx); err == nil && !accepted {
		err = r.control(ctx)
	}
	return proof, accepted, err
}

// control checks that the new value is accepted.
func (r *run) control(ctx context.Context) error {
	value, err := r.newValue(ctx)
	if err != nil {
		return err
	}
	r.controlCall = true
	_, err = r.accepted(ctx, keystore.RotationUser{}, value)
	r.controlCall = false
	if err != nil {
		return fmt.Errorf("the new %s was not accepted beside the old one, so that a refusal would say nothing of the old one: %w", r.plan.Value(), err)
	}
	return nil
}

// callOld makes one call with the old value.
func (r *run) callOld(ctx context.Context) (proof keystore.Proof, accepted bool, err error) {
	old, err := r.oldValue(ctx)
	if err != nil {
		return proof, false, err
	}
	home, _ := r.plan.Home()
	if r.plan.Zone != "" {
		return r.tryOldPassword(ctx, home, old)
	}
	k := r.key()
	k.Name = model.OldValueOf(k.Name)
	var res model.FetchResult
	counted := r.ownRefusal(ctx, func() bool {
		res, err = r.c.Prover.Prove(ctx, Call{home, k, old, r.proves()})
		return err == nil && res.ServiceStatus == http.StatusUnauthorized
	})
	switch {
	case err != nil:
		return proof, false, fmt.Errorf("the call with the old value: %w", err)
	case counted != nil:
		return proof, false, counted
	}
	proof = keystore.Proof{Status: res.ServiceStatus, Duration: res.Timing.Total}
	switch {
	case res.Diagnosis.Cause == model.CauseKeyRejected:
		return proof, false, nil
	case res.Diagnosis.OK(), res.Diagnosis.Cause == model.CauseTargetError, res.ServiceStatus == http.StatusForbidden:
		return proof, true, nil
	}
	return proof, false, errors.New("the call with the old value failed for another reason than the key: " + res.Diagnosis.Summary)
}

// ownRefusal makes a call of the rotation that should be refused, and counts it if it was: all other refused
// calls in the service's journal are somebody else's. Before the call, the record says that it is under way.
func (r *run) ownRefusal(ctx context.Context, call func() (refused bool)) error {
	settings := r.c.Accounts.Settings(r.plan)
	if settings == nil { // there is no journal
		call()
		return nil
	}
	if err := r.settleOwn(ctx, settings); err != nil {
		return err
	}
	before, _, err := r.refusals(ctx, settings)
	if err != nil {
		return err
	}
	err = r.note(ctx, func(p *keystore.RotationPlan) { p.OwnFrom = before + 1 })
	if err != nil {
		return err
	}
	own := 0
	if call() {
		own = 1
		for range journalTries { // the journal may be written after the answer
			now, _, err := r.refusals(ctx, settings)
			if err != nil || now > before {
				break
			}
			pause(ctx, journalWait)
		}
	}
	return r.countOwn(context.WithoutCancel(ctx), own)
}

// The journal may take journalTries times journalWait to show a call.
const (
	journalTries = 40
	journalWait  = 50 * time.Millisecond
)

// settleOwn counts the rotation's own call of a killed process, if the journal shows that it was made.
func (r *run) settleOwn(ctx context.Context, settings Settings) error {
	if r.plan.OwnFrom == 0 {
		return nil
	}
	_, consoles, err := r.refusals(ctx, settings)
	if err != nil {
		return err
	}
	own := 0
	if len(consoles) > r.plan.OwnRefused {
		own = 1
	}
	return r.countOwn(ctx, own)
}

func (r *run) countOwn(ctx context.Context, n int) error {
	return r.note(ctx, func(p *keystore.RotationPlan) { p.OwnRefused, p.OwnFrom = p.OwnRefused+n, 0 })
}

// refusals counts the refused calls in the service's journal since the mark, and returns those of
// consoles.
func (r *run) refusals(ctx context.Context, settings Settings) (n int, consoles []rehearsal.Request, err error) {
	page, err := settings.Newest(ctx, journalled)
	if err != nil {
		return 0, nil, err
	}
	n, _ = since(page, r.mark(), func(q rehearsal.Request) bool {
		fits := r.stranger(q)
		if fits && byConsole(q) {
			consoles = append(consoles, q)
		}
		return fits
	})
	return n, consoles, nil
}

// refused checks that the old value is refused: the last proof.
func (r *run) refused(ctx context.Context, n int) (keystore.Proof, error) {
	if r.plan.OldHeld == "" {
		return keystore.Proof{}, r.stop(n, "the old %s is not at hand: make sure that a call with it is refused, then vouch for it", r.plan.Value())
	}
	proof, accepted, err := r.tryOld(ctx)
	switch {
	case err != nil:
		return proof, err
	case accepted && r.plan.Zone != "":
		return proof, errors.New("the old password is still accepted")
	case accepted:
		return proof, fmt.Errorf("the old value is still accepted (status %d)", proof.Status)
	}
	proof.Note = "the old " + r.plan.Value() + " is refused"
	if p := r.plan; p.Method == keystore.RotateByRefresh && !p.LastOld.IsZero() && !p.FirstNew.IsZero() {
		proof.Note += "; " + outage(p)
	}
	if p := r.plan; p.Method == keystore.RotateByRefresh && p.LastOld.IsZero() && p.NewName != "" {
		proof.Note += "; it was refused before the refresh, too"
	}
	return proof, nil
}

const (
	clock  = "15:04:05.000Z07:00"
	minute = "15:04:05Z07:00"
)

// How long an old key must be unused before it is deleted. If it was used after every reference was set: atRest,
// or twice the widest gap between its uses if that is longer. Else: twice the widest gap, but at most atRest. A
// run waits for patience at most.
const (
	atRest   = time.Minute
	patience = 10 * time.Second
)

// ownAgent is the prefix of the User-Agent of consoles.
const ownAgent = "zonedeck"

// quiet checks that the old key is not in use. A recent use after every reference was set ends the run: it
// is by something unknown. A silence that is too short to tell, and too long to wait for, ends it too.
func (r *run) quiet(ctx context.Context, n int, settings Settings) error {
	for {
		page, err := settings.Newest(ctx, journalled)
		if err != nil {
			return err
		}
		used, last := since(page, mark{r.plan.SetSeq, r.plan.SetEntry}, func(q rehearsal.Request) bool { return q.Key == r.plan.OldName })
		// Earlier uses by consoles need no wait: consoles read the references, which are set.
		_, before := since(page, mark{}, func(q rehearsal.Request) bool { return r.foreignUse(q) })
		rest := min(2*r.widestGap(page), atRest)
		if used > 0 {
			before, rest = last, max(2*r.widestGap(page), atRest)
		}
		wait := before.Time.Add(rest).Sub(r.c.Keys.Now(r.plan))
		switch {
		case before.Seq == 0 || wait <= 0:
			return nil
		case used == 0 && wait <= patience:
			pause(ctx, wait)
		case used == 0:
			return r.stop(n, "%s was used until %s, at gaps that are too wide to tell that nothing uses it now: go on after %s",
				r.plan.OldName, before.Time.UTC().Format(minute), before.Time.Add(rest).UTC().Format(minute))
		default:
			return r.stop(n, "%s is still in use: %s. Find what sends it, give it the new value, and go on after %s: the old key is deleted when nothing has used it for %s",
				r.plan.OldName, lastOf(used, last), before.Time.Add(rest).UTC().Format(minute), rest.Round(time.Second))
		}
	}
}

// foreignUse reports whether a request used the old key and came from no console.
func (r *run) foreignUse(q rehearsal.Request) bool { return q.Key == r.plan.OldName && !byConsole(q) }

func byConsole(q rehearsal.Request) bool { return strings.HasPrefix(q.Header["User-Agent"], ownAgent) }

// widestGap is the longest time between two successive uses of the old key. Uses by consoles count
// only after the references were set.
func (r *run) widestGap(page rehearsal.Page) (widest time.Duration) {
	var last time.Time
	set := mark{r.plan.SetSeq, r.plan.SetEntry}
	if set.anew(page) {
		set.seq = 0
	}
	for _, q := range page.Requests {
		if !r.foreignUse(q) && (q.Key != r.plan.OldName || q.Seq <= set.seq) {
			continue
		}
		if !last.IsZero() {
			widest = max(widest, q.Time.Sub(last))
		}
		last = q.Time
	}
	return widest
}

// since counts the requests after a mark that fit, and returns the last one. If the journal was begun
// anew, or was empty at the mark, all its requests came after it.
func since(page rehearsal.Page, m mark, fits func(rehearsal.Request) bool) (n int, last rehearsal.Request) {
	if m.empty() || m.anew(page) {
		m.seq = 0
	}
	for _, q := range page.Requests {
		if q.Seq > m.seq && fits(q) {
			n, last = n+1, q
		}
	}
	return n, last
}

func lastOf(n int, q rehearsal.Request) string {
	calls := "one call, at"
	if n > 1 {
		calls = fmt.Sprintf("%d calls, the last at", n)
	}
	return fmt.Sprintf("%s %s from %s (%s %s, %s)", calls, q.Time.UTC().Format(minute), q.Remote, q.Method, q.URL, q.Header["User-Agent"])
}

// pause waits, or ends with ctx: what is asked next says so.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// watch looks for calls that were refused since the old value ended: something may still send it.
func (r *run) watch(ctx context.Context, n int) (keystore.Proof, error) {
	settings := r.c.Accounts.Settings(r.plan)
	if settings == nil {
		return r.nextCall(ctx)
	}
	if err := r.settleOwn(ctx, settings); err != nil {
		return keystore.Proof{}, err
	}
	page, err := settings.Newest(ctx, journalled)
	if err != nil {
		return keystore.Proof{}, err
	}
	refused, last := since(page, r.mark(), r.stranger)
	if others := refused - r.ownIn(page); others > 0 {
		if _, other := since(page, r.mark(), func(q rehearsal.Request) bool { return r.stranger(q) && !byConsole(q) }); other.Seq != 0 {
			last = other // the last call may be the proof itself
		}
		return keystore.Proof{}, r.stop(n, "%s, besides the proof's own: something may still send the old %s. Find it and go on, or vouch for it", lastOf(others, last), r.plan.Value())
	}
	note := "the service's journal shows no refused call but the proof's own"
	if r.plan.OutageRefused > 0 {
		note += fmt.Sprintf(" since the references were set, and %d in the outage before", r.plan.OutageRefused)
	}
	return keystore.Proof{Note: note}, nil
}

// ownIn is how many of the rotation's own refused calls a journal shows. A journal that was begun anew shows
// at most those of consoles until the proof was recorded.
func (r *run) ownIn(page rehearsal.Page) int {
	if !r.mark().anew(page) {
		return r.plan.OwnRefused
	}
	proof, _ := r.plan.Step(keystore.StepRefused, "")
	n, _ := since(page, r.mark(), func(q rehearsal.Request) bool {
		return r.stranger(q) && byConsole(q) && !q.Time.After(proof.At)
	})
	return min(n, r.plan.OwnRefused)
}

// nextCall makes this console's next call. Without a journal nothing else can be watched.
func (r *run) nextCall(ctx context.Context) (keystore.Proof, error) {
	// Read the key's reference: the held value may be gone if a run was killed at its end.
	value, err := r.c.Secrets.Resolve(ctx, cmp.Or(r.plan.NewRef, r.plan.NewHeld))
	if err != nil {
		return keystore.Proof{}, fmt.Errorf("taking the new %s: %w", r.plan.Value(), err)
	}
	r.secrets = append(r.secrets, value)
	if value.Fingerprint() != r.plan.NewFingerprint {
		return keystore.Proof{}, fmt.Errorf("%s gives another value than the new one (••••%s)", label(r.plan.NewRef), value.Last4())
	}
	proof, err := r.accepted(ctx, keystore.RotationUser{}, value)
	if err != nil {
		return proof, fmt.Errorf("the next call of this console: %w", err)
	}
	proof.Note = "the next call of this console: " + proof.Note + "; the service shows no journal of others"
	return proof, nil
}
