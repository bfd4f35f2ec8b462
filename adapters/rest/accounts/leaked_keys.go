package accounts

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/ports"
)

var errReportSignature = &fault.Error{
	Kind: fault.Malformed, Code: "report_signature_invalid",
	Detail: "The signature of the report is missing, or was not made for this body by a key that is configured here.",
}

// verifyReport returns errReportSignature unless one of the public keys signed body, as GitHub signs reports of its
// secret scanning: ECDSA with SHA-256, ASN.1, in base64.
func verifyReport(l server.LeakedKeys, h http.Header, body []byte) error {
	if len(l.PublicKeys) == 0 {
		return nil
	}
	signature, err := base64.StdEncoding.DecodeString(h.Get("Github-Public-Key-Signature"))
	if err != nil {
		return errReportSignature
	}
	digest := sha256.Sum256(body)
	for _, k := range l.PublicKeys {
		if k.ID != h.Get("Github-Public-Key-Identifier") {
			continue
		}
		if key, err := k.Parse(); err == nil && ecdsa.VerifyASN1(key, digest[:], signature) {
			return nil
		}
	}
	return errReportSignature
}

// reportLeakedKeys revokes API keys that were found in public. The mails to their users are sent after the response.
func reportLeakedKeys(r *server.Call) (server.Reply, error) {
	now := server.Now()
	if err := r.CountAttempt(now); err != nil {
		return server.Reply{}, err
	}
	if err := verifyReport(r.API.Config.LeakedKeys, r.Header, r.Payload); err != nil {
		return server.Reply{}, err
	}
	in, err := server.Decode[openapi.LeakedKeys](r)
	if err != nil {
		return server.Reply{}, err
	}
	by := r.SignInActor(now)
	mails, err := r.Accounts.EndLeaked(r.Context(), by, convert.Slice(in, toLeak))
	alert(r, mails)
	return server.NoContent, err
}

func toLeak(k *openapi.LeakedKey) account.Leak {
	return account.Leak{Token: k.Token, URL: k.URL, Source: k.Source}
}

const alertWithin = 20 * time.Second // how long it may take to mail the users of leaked keys

// alert sends mails in the background, so that the response time does not reveal how many there are.
func alert(r *server.Call, mails []ports.Mail) {
	if len(mails) == 0 {
		return
	}
	ctx := context.WithoutCancel(r.Context())
	go func() {
		ctx, cancel := context.WithTimeout(ctx, alertWithin)
		defer cancel()
		if err := r.Accounts.Alert(ctx, mails); err != nil {
			r.API.Log.WarnContext(
				ctx, "the owner of a leaked key was not told", "request_id", server.Observed(r.Request).ID,
				"error", err,
			)
		}
	}()
}
