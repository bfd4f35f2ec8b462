package connection

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/schema"
	"github.com/atrium-hq/atrium/domain/secret"
)

// The fields that have the same name in every kind.
const (
	FieldHost     = "host"
	FieldPort     = "port"
	FieldDatabase = "database"
	FieldUsername = "username"
	FieldPassword = "password"
	FieldTLS      = "tls"
	FieldTLSCA    = "tls_ca"
)

// TLSMode is how a connection is encrypted.
type TLSMode string

// The modes of TLS, named like libpq's sslmode values. None falls back to another.
const (
	VerifyFull TLSMode = "verify_full" // the certificate is signed by a trusted authority, for the host's name
	VerifyCA   TLSMode = "verify_ca"   // signed by a trusted authority, for any name
	Require    TLSMode = "require"     // encrypted, but not protected against a man in the middle
	Disable    TLSMode = "disable"     // not encrypted
)

// Credential is what a caller entered to reach a warehouse: the fields in its kind's schema, with
// defaults filled in. It prints without its secrets. The zero Credential has no kind.
type Credential struct {
	kind    Kind
	config  map[string]any // string, bool or json.Number
	secrets map[string]secret.String
}

// ParseCredential reads a JSON object and checks it against the schema of kind k. It returns
// fault.ErrInvalid with all fields below pointer "/credential". Submitted values are not quoted. A host with spaces
// around it, a scheme or a port is corrected.
func ParseCredential(k Kind, text []byte) (Credential, error) {
	d, ok := Describe(k)
	if !ok {
		return Credential{}, errors.New("a credential of no kind")
	}
	var fields map[string]any
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if err := in.Decode(&fields); err != nil || fields == nil || in.Decode(new(any)) != io.EOF {
		return Credential{}, fault.ErrInvalid.WithFields(fault.Field{Pointer: "/credential", Code: "wrong_type",
			Detail: "Must be an object."})
	}
	var errs []fault.Field
	if field := tidyHost(d, fields); field.Pointer != "" {
		errs = append(errs, field)
		fields[FieldHost] = "host" // so that the schema checks only the other fields
	}
	if err := d.schema().Validate(fields); err != nil {
		invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
		if !ok {
			return Credential{}, err
		}
		errs = append(errs, schema.Wrong("/credential", invalid)...)
	}
	if errs != nil {
		return Credential{}, fault.ErrInvalid.WithFields(errs...)
	}
	c := d.credential(fields)
	return c, fault.InvalidFields(c.check())
}

// RestoreCredential reads what Reveal wrote, without the checks that the credential has passed before: to compile a
// kind's schema takes longer than everything else.
func RestoreCredential(k Kind, text []byte) (Credential, error) {
	d, ok := Describe(k)
	if !ok {
		return Credential{}, errors.New("a credential of no kind")
	}
	var fields map[string]any
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if err := in.Decode(&fields); err != nil {
		return Credential{}, errors.New("a credential that is no object") // without err, which may quote it
	}
	return d.credential(fields), nil
}

// credential returns a credential of d's kind, with defaults for fields that are missing.
func (d *Descriptor) credential(fields map[string]any) Credential {
	c := Credential{kind: d.Kind, config: map[string]any{}, secrets: map[string]secret.String{}}
	maps.Copy(c.config, d.defaults)
	for name, v := range fields {
		if slices.Contains(d.secrets, name) {
			text, _ := v.(string) // the schema requires text for secrets
			c.secrets[name] = secret.New(text)
			continue
		}
		c.config[name] = v
	}
	return c
}

// check finds errors that a schema cannot express.
func (c Credential) check() []fault.Field {
	if ca := c.Text(FieldTLSCA); ca != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(ca)) {
		return []fault.Field{{Pointer: "/credential/" + FieldTLSCA, Code: "invalid_format",
			Detail: "Must be one or more certificates in PEM."}}
	}
	return slices.Concat(c.checkTunnel(), c.checkClientCertificate(), c.checkKey(), c.checkTokens(),
		c.checkRedshift(), c.checkHeaders())
}

// Kind returns the kind of warehouse that c is for.
func (c Credential) Kind() Kind { return c.kind }

// Text returns a field that is not secret; "" if it is not set.
func (c Credential) Text(field string) string {
	s, _ := c.config[field].(string)
	return s
}

// Flag returns a boolean field; false if it is not set.
func (c Credential) Flag(field string) bool {
	b, _ := c.config[field].(bool)
	return b
}

// Port returns the field "port"; 0 if it is not set.
func (c Credential) Port() uint16 { return c.port(FieldPort) }

func (c Credential) port(field string) uint16 {
	n, _ := c.config[field].(json.Number)
	port, err := n.Int64()
	if err != nil || port < 0 || port > 65535 {
		return 0
	}
	return uint16(port)
}

// TLSMode returns the field "tls".
func (c Credential) TLSMode() TLSMode { return TLSMode(c.Text(FieldTLS)) }

// Secret returns a secret field; zero if it is not set.
func (c Credential) Secret(field string) secret.String { return c.secrets[field] }

// SecretsSet returns the names of the secret fields that are set, in alphabetical order.
func (c Credential) SecretsSet() []string { return slices.Sorted(maps.Keys(c.secrets)) }

// Config encodes the fields that are not secret, defaults included, as an object of texts, numbers and booleans.
func (c Credential) Config() json.RawMessage {
	text, _ := json.Marshal(c.config) //nolint:errchkjson // its values were read from JSON
	return text
}

// Reveal encodes the credential as the JSON object that ParseCredential reads, with secrets in plain
// text. It is only for sealing and for child processes.
func (c Credential) Reveal() ([]byte, error) {
	all := maps.Clone(c.config)
	if all == nil {
		all = map[string]any{}
	}
	for name, s := range c.secrets {
		all[name] = s.Reveal()
	}
	return json.Marshal(all)
}

// SameTarget reports whether o has the same target as c: the same host, port and database, or the
// equivalent fields of this kind, through the same SSH server.
func (c Credential) SameTarget(o Credential) bool {
	if c.kind != o.kind || !sameTunnel(c.config, o.config) {
		return false
	}
	for _, a := range []about{network, database} {
		for _, field := range c.kind.fields(a) {
			same := c.config[field] == o.config[field]
			if field == FieldHost {
				same = strings.EqualFold(c.Text(field), o.Text(field)) // DNS names ignore case
			}
			if !same {
				return false
			}
		}
	}
	return true
}

// LeadsTo reports whether o has the same target as c's credential, or as the one that was erased.
func (c *Connection) LeadsTo(o Credential) bool {
	return Credential{kind: c.Kind, config: c.fields()}.SameTarget(o)
}
