package service

import (
	"context"
	"errors"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/service/servicetest"
)

func TestTheEndWaitsForTheCallsUnderWay(t *testing.T) {
	c := New(ClientOptions{Source: servicetest.SourceFor(servicetest.Profile("http://api.test"))})
	noerr.Want(t, c.Close(t.Context()))
	end := c.wire.Begin()
	defer end()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Close(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a call is under way: %v", err)
	}
}
