package service

import (
	"context"
	"fmt"
	"net/http"

	"zonedeck/model"
	"zonedeck/service/exchange"
)

// Skew is how far the clock of a profile's service is ahead of this machine's, by the service's last
// answer in this run. ok is false if there is none.
func (c *Client) Skew(p model.Profile) (s exchange.Skew, ok bool) { return c.wire.Skew(p) }

// MeasureSkew asks the service for its Date header. The request has no key and costs nothing; its
// answer is otherwise ignored.
func (c *Client) MeasureSkew(ctx context.Context) (exchange.Skew, error) {
	p, _, err := exchange.Current(ctx, c.source)
	if err != nil {
		return exchange.Skew{}, err
	}
	resp, _, err := c.wire.API(ctx, exchange.Call{Profile: p, Method: http.MethodGet, Path: "/"})
	if err != nil {
		return exchange.Skew{}, fmt.Errorf("ask for the service's time: %w", err)
	}
	defer resp.Body.Close()
	s, ok := c.Skew(p)
	if !ok {
		return exchange.Skew{}, fmt.Errorf("the service's answer (%d) has no Date header", resp.StatusCode)
	}
	return s, nil
}
