package connection

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/secret"
)

// The fields for an AWS key, which signs tokens instead of a password. Every kind has them whose descriptor says "iam".
// Redshift has them for temporary passwords.
const (
	FieldAWSAccessKeyID     = "aws_access_key_id"
	FieldAWSSecretAccessKey = "aws_secret_access_key" //nolint:gosec // a field's name
	FieldAWSRegion          = "aws_region"
)

// FieldCloudSQLKey is a Google service account's key, which signs in to Cloud SQL with tokens instead of the password.
// The same kinds have it.
const FieldCloudSQLKey = "cloud_sql_service_account_key"

// tokenPort is the port of the servers of Google and Amazon that give tokens or temporary passwords.
const tokenPort = 443

// TokenUnavailable is a sign-in's code if the server of Google or Amazon gave neither a token or password nor a
// refusal.
const TokenUnavailable Code = "token_unavailable" //nolint:gosec // a failure's name

var awsFields = []string{FieldAWSAccessKeyID, FieldAWSSecretAccessKey, FieldAWSRegion}

//go:embed iam.json
var iamProperties []byte

// awsTokenHint is the hint after a refused sign-in with a token. The server does not say what is wrong with one.
const awsTokenHint = "The server refuses the token that Atrium signed with the AWS key. Check the key and the " +
	"region, that the IAM policy allows rds-db:connect for this user, and that the user signs in with tokens (GRANT " +
	"rds_iam in PostgreSQL, AWSAuthenticationPlugin in MySQL). Host and port must be those of the endpoint. A token " +
	"is valid for 15 minutes, so the clock of Atrium's machine must be right."

// googleTokenHint is awsTokenHint for tokens of Google.
const googleTokenHint = "Google gives no token for the service account's key, or the server refuses the token. " +
	"Check that the key is not deleted, that the account has the roles Cloud SQL Client and Cloud SQL Instance User, " +
	"that IAM authentication is on for the instance, and that the user is the account: its e-mail address without " +
	".gserviceaccount.com in PostgreSQL, and without @ and all behind it in MySQL. The clock of Atrium's machine " +
	"must be right."

// withProperties adds properties, a JSON object, to a credential's schema.
func withProperties(schema json.RawMessage, additions []byte) (json.RawMessage, error) {
	var object, properties map[string]json.RawMessage
	if err := json.Unmarshal(schema, &object); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(object["properties"], &properties); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(additions, &properties); err != nil { // which adds them
		return nil, err
	}
	var err error
	if object["properties"], err = json.Marshal(properties); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// UsesAWSTokens reports whether c signs in with tokens that an AWS key signs.
func (c Credential) UsesAWSTokens() bool {
	return c.kind != Redshift && c.Text(FieldAWSAccessKeyID) != ""
}

// UsesGoogleTokens reports whether c signs in with tokens that Google gives for a service account's key.
func (c Credential) UsesGoogleTokens() bool { return !c.secrets[FieldCloudSQLKey].IsZero() }

// TokenPort returns the port of the server that gives tokens or temporary passwords for c, or 0.
func (c Credential) TokenPort() uint16 {
	if c.UsesGoogleTokens() || c.UsesTemporaryPasswords() {
		return tokenPort
	}
	return 0
}

// WithPassword returns c with another password: a token.
func (c Credential) WithPassword(password secret.String) Credential {
	secrets := map[string]secret.String{}
	for name, s := range c.secrets {
		secrets[name] = s
	}
	secrets[FieldPassword] = password
	c.secrets = secrets
	return c
}

// checkTokens finds missing fields of a token key, and fields that exclude it. A token lets anyone sign in who sees it,
// so the server must prove who it is before it gets one.
func (c Credential) checkTokens() (errs []fault.Field) {
	isSet := func(field string) bool { return c.Text(field) != "" || !c.secrets[field].IsZero() }
	note := func(field, code, detail string) {
		errs = append(errs, fault.Field{Pointer: "/credential/" + field, Code: code, Detail: detail})
	}
	withAWS, withGoogle := slices.ContainsFunc(awsFields, isSet), isSet(FieldCloudSQLKey)
	if !withAWS && !withGoogle {
		return nil
	}
	for _, field := range awsFields {
		isKnown := isSet(field) || (field == FieldAWSRegion && c.RedshiftDatabase().Region != "")
		if withAWS && !isKnown {
			note(field, "required", "Give all fields of the AWS key, or none.")
		}
	}
	if withAWS && withGoogle {
		note(FieldCloudSQLKey, "not_allowed_value", "Give either an AWS key or the key of a service account.")
	}
	if isSet(FieldPassword) {
		note(FieldPassword, "not_allowed_value", "Give either a password or a key.")
	}
	if mode := c.TLSMode(); mode != VerifyFull && mode != VerifyCA {
		note(FieldTLS, "not_allowed_value", "Must be verify_full or verify_ca with a key: everyone who sees a token "+
			"can sign in with it.")
	}
	return errs
}

// withTokens returns a connection's failure if it signs in with tokens or temporary passwords. c has only the
// configuration of the connection, and secrets are the names of its secrets.
func (f Failure) withTokens(c Credential, secrets []string) Failure {
	fields, hint := awsFields, awsTokenHint
	switch {
	case slices.Contains(secrets, FieldCloudSQLKey):
		fields, hint = []string{FieldCloudSQLKey}, googleTokenHint
	case c.UsesTemporaryPasswords():
		fields, hint = redshiftFields, redshiftHint
		if f.Code == TokenUnavailable {
			f.Hint = redshiftUnavailableHint
		}
	case !c.UsesAWSTokens():
		return f
	}
	if i := slices.Index(f.Fields, FieldPassword); i >= 0 {
		f.Fields = slices.Concat(f.Fields[:i:i], fields, f.Fields[i+1:])
	}
	if c.RedshiftDatabase().Workgroup != "" { // whose user is not a field
		f.Fields = slices.DeleteFunc(slices.Clone(f.Fields), func(field string) bool { return field == FieldUsername })
	}
	if f.Code == AuthFailed || f.Code == AuthRejected {
		f.Hint = hint
	}
	return f
}

// IsBearerToken reports whether s can be an access token in a header (RFC 6750, section 2.1), of at most 8 KiB.
func IsBearerToken(s string) bool {
	const most = 8192
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' })
}
