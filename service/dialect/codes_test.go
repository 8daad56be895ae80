package dialect

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// A page that came and cannot be used is billed like one that can.
func TestACodeSaysWhetherTheTargetAnswered(t *testing.T) {
	for code, unanswered := range map[string]bool{
		"http_status": false, "document_load_failed": false, "expect_element": false, "captcha": false, "client_1000": false,
		"target_40001": true, "target_40020": true, "net_err_closed": true, "no_peers": true, "proxy_error": true, "peer_30030": true, "peer_30040": true,
		"client_10000": true, "validation": true,
	} {
		r := brightdata(t).ReadHeader(http.Header{"X-Brd-Error-Code": {code}, "X-Brd-Status-Code": {"502"}}, time.Now())
		text := brightdata(t).ReadText("it failed: " + code)
		if r.Unanswered != unanswered || text.Unanswered != (unanswered && strings.Contains(code, "_")) {
			t.Errorf("%s: %t, %t", code, r.Unanswered, text.Unanswered)
		}
	}
}
