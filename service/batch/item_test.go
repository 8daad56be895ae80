package batch

import (
	"testing"
	"time"

	"zonedeck/service/batch/store"
	"zonedeck/service/share"
)

// TestWhatACutFetchMayCostIsNeverFree has a fetch be cut off while others of its slice go on.
func TestWhatACutFetchMayCostIsNeverFree(t *testing.T) {
	for name, on := range map[string]*store.Server{"on a server": {}, "on one machine, where its mark says so": nil} {
		r := &runner{store: &store.Store{Server: on}}
		r.purse.free = 5
		r.purse.take(5)
		if !r.unsent(t.Context(), &trip{paid: 5}, errLapsed, true) {
			t.Errorf("%s: it is not lost", name)
		}
		want := int64(0)
		if on != nil {
			want = 5
		}
		if r.next.Spent != want || r.next.Tally.Unconfirmed != want || r.purse.reserved() != 5 {
			t.Errorf("%s: spent %d, %d unconfirmed, %d reserved", name, r.next.Spent, r.next.Tally.Unconfirmed, r.purse.reserved())
		}
	}
}

// TestAWorkerThatWasSilentPaysFromNothingOld has a worker wake up with what it had reserved.
func TestAWorkerThatWasSilentPaysFromNothingOld(t *testing.T) {
	r := &runner{store: &store.Store{Server: &store.Server{}}, price: 1}
	r.purse.free, r.deadAt = 5, share.At(time.Now().Add(time.Minute))
	if _, _, pays := r.payReserved(); !pays || r.purse.free != 4 {
		t.Errorf("it does not pay while it lives: %+v", r.purse)
	}
	r.deadAt = share.At(time.Now())
	if _, _, pays := r.payReserved(); pays || r.purse.free != 0 || r.purse.reserved() != 1 {
		t.Errorf("it pays: %+v", r.purse)
	}
}
