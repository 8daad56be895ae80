package service

import (
	"context"
	"errors"
	"testing"

	"zonedeck/service/servicetest"
)

func TestTheEndWaitsForTheCallsUnderWay(t *testing.T) {
	c := New(ClientOptions{Source: servicetest.SourceFor(servicetest.Profile("http://api.test"))})
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	end := c.wire.Begin()
	defer end()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Close(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a call is under way: %v", err)
	}
}
