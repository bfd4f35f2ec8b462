package connection

import (
	_ "embed"
	"encoding/json"
	"slices"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/secret"
)

// The fields of an AWS key that signs tokens in the place of a password. Every kind has them whose descriptor says
// "iam".
const (
	FieldAWSAccessKeyID     = "aws_access_key_id"
	FieldAWSSecretAccessKey = "aws_secret_access_key" //nolint:gosec // the name of a field
	FieldAWSRegion          = "aws_region"
)

var awsFields = []string{FieldAWSAccessKeyID, FieldAWSSecretAccessKey, FieldAWSRegion}

//go:embed iam.json
var iamProperties []byte

// awsTokenHint is the hint of a refused sign-in with a token. The server does not say what is wrong with one.
const awsTokenHint = "The server refuses the token that Atrium signed with the AWS key. Check the key and the " +
	"region, that the IAM policy allows rds-db:connect for this user, and that the user signs in with tokens (GRANT " +
	"rds_iam in PostgreSQL, AWSAuthenticationPlugin in MySQL). Host and port must be those of the endpoint. A token " +
	"is valid for 15 minutes, so the clock of Atrium's machine must be right."

// withProperties adds properties, a JSON object, to the schema of a credential.
func withProperties(schema json.RawMessage, more []byte) (json.RawMessage, error) {
	var whole, properties map[string]json.RawMessage
	if err := json.Unmarshal(schema, &whole); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(whole["properties"], &properties); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(more, &properties); err != nil { // which adds them
		return nil, err
	}
	var err error
	if whole["properties"], err = json.Marshal(properties); err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

// UsesAWSTokens reports whether c signs in with tokens that an AWS key signs.
func (c Credential) UsesAWSTokens() bool { return c.Text(FieldAWSAccessKeyID) != "" }

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

// checkTokens finds fields of an AWS key that are missing, and those that exclude it. A token lets anyone sign in who
// sees it, so the server must prove who it is before it gets one.
func (c Credential) checkTokens() (wrong []fault.Field) {
	isSet := func(field string) bool { return c.Text(field) != "" || !c.secrets[field].IsZero() }
	if !slices.ContainsFunc(awsFields, isSet) {
		return nil
	}
	note := func(field, code, detail string) {
		wrong = append(wrong, fault.Field{Pointer: "/credential/" + field, Code: code, Detail: detail})
	}
	for _, field := range awsFields {
		if !isSet(field) {
			note(field, "required", "Give all fields of the AWS key, or none.")
		}
	}
	if isSet(FieldPassword) {
		note(FieldPassword, "not_allowed_value", "Give either a password or an AWS key.")
	}
	if mode := c.TLSMode(); mode != VerifyFull && mode != VerifyCA {
		note(FieldTLS, "not_allowed_value", "Must be verify_full or verify_ca with an AWS key: everyone who sees a "+
			"token can sign in with it.")
	}
	return wrong
}

// withTokens returns a failure of a connection that signs in with tokens.
func (f Failure) withTokens(config map[string]any) Failure {
	if !(Credential{config: config}).UsesAWSTokens() || !slices.Contains(f.Fields, FieldPassword) {
		return f
	}
	f.Fields = slices.Concat(slices.DeleteFunc(slices.Clone(f.Fields),
		func(field string) bool { return field == FieldPassword }), awsFields)
	if f.Code == AuthFailed || f.Code == AuthRejected {
		f.Hint = awsTokenHint
	}
	return f
}
