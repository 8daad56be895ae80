package jobs

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestFollowingThatFailsIsBegunAgain: a failure does not end receiving.
func TestFollowingThatFailsIsBegunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		locked, full := errors.New("the file is locked"), errors.New("the disk is full")
		fails := []error{locked, locked, nil, full, full}
		followed := 0
		var said []error
		keepFollowing(ctx, func() error {
			if followed == len(fails) {
				end()
				return context.Cause(ctx)
			}
			if followed++; followed == len(fails) {
				time.Sleep(time.Minute) //nolint:forbidigo // the bubble's clock
			}
			return fails[followed-1]
		}, func(err error) { said = append(said, err) })
		if !slices.Equal(said, []error{locked, full, full}) || followed != len(fails) {
			t.Errorf("%v after %d", said, followed)
		}
	})
}
