package connection

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
)

// ConsentWithin is the maximum time that a person can take to give consent.
const ConsentWithin = 10 * time.Minute

// ConsentEnded is the code for a consent that the service no longer accepts: the person withdrew it, or it expired.
const ConsentEnded Code = "consent_ended"

// The fields of a consent's credential. No caller can enter them: Atrium gets them from the service.
const (
	FieldGoogleAccount = "google_account" // the e-mail address of the person
	FieldOAuthClient   = "client_id"      // to which the consent was given
	FieldRefreshToken  = "refresh_token"
)

// Errors about consents.
var (
	// ErrConsentSession is returned to callers without a session: only a browser can be sent to the service and back.
	ErrConsentSession = &fault.Error{
		Kind: fault.Forbidden, Code: "session_required",
		Detail: "Requires a session: a person gives consent in a browser. Connect with a service account instead.",
	}
	ErrConsentNotOffered = &fault.Error{
		Kind: fault.Forbidden, Code: "consent_not_offered",
		Detail: "This organisation has no OAuth client for connections of this kind. Use another credential.",
	}
	ErrConsentInvalid = &fault.Error{
		Kind: fault.Invalid, Code: "consent_invalid",
		Detail: "The consent was started in another session or workspace, was used before, is older than 10 minutes, " +
			"or the service does not accept its code. Connect again.",
	}
	ErrConsentIncomplete = &fault.Error{
		Kind: fault.Invalid, Code: "consent_incomplete",
		Detail: "The consent does not include the permission to see your spreadsheets. Connect again, and permit it.",
	}
)

// OAuthClient is an org's registration at a service. The zero OAuthClient is none.
type OAuthClient struct {
	ID          string
	Secret      secret.String
	RedirectURI string // where the service sends browsers back to, as it is registered
}

// IsZero reports whether there is no client.
func (c OAuthClient) IsZero() bool { return c.ID == "" }

// Consent is what a person's browser brings back from a service.
type Consent struct {
	State string // of the request
	Code  string
}

// Entry is a credential as a caller gives it: one of the two.
type Entry struct {
	Credential []byte // a JSON object
	Consent    *Consent
}

// IsZero reports whether the caller gave none.
func (e Entry) IsZero() bool { return e.Credential == nil && e.Consent == nil }

// CheckOne returns fault.ErrInvalid unless e has exactly one of its fields.
func (e Entry) CheckOne() error {
	switch {
	case e.IsZero():
		return fault.InField("/credential", "required", "Must be given, unless there is a consent.")
	case e.Credential != nil && e.Consent != nil:
		return fault.InField("/consent", "not_allowed_value", "Give either a credential or a consent.")
	}
	return nil
}

// MayConsent returns an error unless by may give consent to connections of its workspace: ErrForbidden as MayCreate
// does, or ErrConsentSession.
func MayConsent(by identity.Actor) error {
	if err := MayCreate(by); err != nil {
		return err
	}
	if by.Session == "" {
		return ErrConsentSession
	}
	return nil
}

// Consented returns the consent credential that account gave to client.
func Consented(k Kind, account string, client OAuthClient, refresh secret.String) Credential {
	return Credential{
		kind:    k,
		config:  map[string]any{FieldGoogleAccount: account, FieldOAuthClient: client.ID},
		secrets: map[string]secret.String{FieldRefreshToken: refresh},
	}
}

// IsConsent reports whether c is a consent's credential.
func (c Credential) IsConsent() bool {
	return !c.secrets[FieldRefreshToken].IsZero() && isConsent(c.config)
}

// isConsent reports whether a configuration belongs to a consent. A kind with its own OAuth client (Snowflake,
// Databricks) has no account.
func isConsent(config map[string]any) bool { return config[FieldGoogleAccount] != nil }

// IsConsent reports whether c has a consent's credential.
func (c *Connection) IsConsent() bool { return c.Status != Revoked && isConsent(c.fields()) }

// ParseStored reads what Credential.Reveal returned. Unlike ParseCredential it also reads a consent's credential.
func ParseStored(k Kind, text []byte) (Credential, error) {
	var key struct {
		Account string `json:"google_account"`
		Client  string `json:"client_id"`
		Refresh string `json:"refresh_token"`
	}
	if d, ok := Describe(k); !ok || !d.Consent {
		return ParseCredential(k, text)
	}
	if err := json.Unmarshal(text, &key); err != nil {
		return Credential{}, fmt.Errorf("a stored credential that is not an object")
	}
	if key.Refresh == "" {
		return ParseCredential(k, text)
	}
	return Consented(k, key.Account, OAuthClient{ID: key.Client}, secret.New(key.Refresh)), nil
}

// withConsent returns a connection's failure if its credential is a consent: it has no field that a person could
// correct.
func (f Failure) withConsent(config map[string]any) Failure {
	if isConsent(config) {
		f.Fields = nil
	}
	return f
}
