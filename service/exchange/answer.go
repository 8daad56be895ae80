package exchange

import (
	"net/http"
	"time"

	"zonedeck/model"
	"zonedeck/service/dialect"
)

// Answered is what an answer of the service itself shows. body is its beginning. The header and the service's words
// are masked; a verdict on it goes through [Mask.Diagnosis].
func Answered(now time.Time, d dialect.Dialect, mask Mask, resp *http.Response, body []byte) model.Outcome {
	mask.Header(resp.Header)
	reading, kind := d.ReadHeader(resp.Header, now), resp.Header.Get("Content-Type")
	return model.Outcome{
		Via: model.ViaAPI, Job: model.CallProgress, ServiceStatus: resp.StatusCode,
		ServiceCode: reading.Code, ServiceText: mask.Text(dialect.ErrorText(kind, body)), ServiceClass: reading.Class, ServiceCause: reading.Cause,
		ReadBy: reading.ReadBy, Unread: reading.Unread,
		HeaderEvidence: reading.Evidence, ContentType: kind,
		BodyHead: body, BodySize: int64(len(body)), RetryAfter: reading.RetryAfter,
	}
}
