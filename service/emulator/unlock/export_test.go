package unlock

import (
	"context"
	"net/http"
)

// Solve is for the fuzz test, which is a caller like any other.
func Solve(ctx context.Context, rt http.RoundTripper, asked *http.Request, body []byte) ([]*http.Cookie, error) {
	return solve(ctx, rt, asked, body)
}
