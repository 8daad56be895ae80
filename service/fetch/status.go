package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// The bounds of asking for an account's status.
const (
	statusTimeout = 30 * time.Second
	statusBytes   = 64 << 10
)

// Provable says why no call of a profile can show whether the service accepts a key, or is nil: there is its
// proofCall, or its dialect knows where an account shows its status.
func (*Fetcher) Provable(p model.Profile) error {
	_, err := proofCall(p)
	if err == nil || statusPath(p) != "" {
		return nil
	}
	return err
}

// statusPath is where the account of a profile shows its status; empty where its dialect shows no such call.
func statusPath(p model.Profile) string {
	d, err := dialect.Find(p.Dialect)
	if err != nil || p.BaseURL == "" {
		return ""
	}
	return d.AccountStatus()
}

// proveByStatus asks for an account's status with a value. It goes through no zone, which is what is billed
// (service.md 1 rule 3). A call without an answer, and an answer
// that tells nothing of the value, is an error.
func (ft *Fetcher) proveByStatus(ctx context.Context, p model.Profile, k model.Key, value keystore.Secret, proves string) (model.FetchResult, error) {
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return model.FetchResult{}, err
	}
	defer ft.cfg.Wire.Begin()()
	ctx, cancel := context.WithTimeoutCause(ctx, statusTimeout, exchange.ErrTimeout)
	defer cancel()
	mask, started, began := exchange.MaskOf(value, exchange.Login{}), ft.cfg.Now(), ft.cfg.Timer()
	resp, _, err := ft.cfg.Wire.API(ctx, exchange.Call{Profile: p, KeyName: k.Name, Key: value, Method: http.MethodGet, Path: d.AccountStatus()})
	if err != nil {
		return model.FetchResult{}, errors.New(mask.Text(err.Error()))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(mask.Reader(resp.Body), statusBytes))
	if err != nil {
		return model.FetchResult{}, errors.New(mask.Text(err.Error()))
	}
	answered := exchange.Answered(ft.cfg.Now(), d, k, mask, resp, body)
	verdict := model.Diagnosis{Class: model.ClassOK}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		verdict = mask.Diagnosis(model.Diagnose(answered))
	} else if _, err := d.ReadStatus(body); err != nil { // a page that asks to sign in to a network is answered with 200, too
		return model.FetchResult{}, errors.New(mask.Text(err.Error()))
	}
	took, sum := ft.cfg.Timer().Sub(began), sha256.Sum256(body)
	res := model.FetchResult{
		ID: ft.newID("f"), KeyName: k.Name, Started: started, Proves: proves, ServiceStatus: resp.StatusCode,
		Request: model.FetchRequest{URL: p.BaseURL + d.AccountStatus(), Via: model.ViaAPI, Key: k.Name},
		Timing:  model.Timing{DNS: -1, Connect: -1, ProxyConnect: -1, TLS: -1, FirstByte: -1, Transfer: -1, Total: took},
		Attempts: []model.Attempt{{
			N: 1, Class: verdict.Class, Cause: verdict.Cause, Unanswered: true, Bytes: int64(len(body)), Total: took, Sent: started.UnixMicro(),
		}},
		Header: resp.Header, ContentType: answered.ContentType,
		Body:      model.BodyRef{Bytes: body, Size: int64(len(body)), SHA256: hex.EncodeToString(sum[:])},
		Diagnosis: verdict,
	}
	if err := ft.cfg.Journal.PutFetch(context.WithoutCancel(ctx), p.Name, res); err != nil {
		ft.cfg.Log.Warn("a proof was not kept", "id", res.ID, "error", err)
	}
	return res, nil
}
