// Package connection holds connections to warehouses, their kinds and credentials, and descriptions of
// their failures.
package connection

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Kind is a kind of warehouse, or of an endpoint that answers chats. The descriptors under kinds/ define the kinds.
type Kind string

// The kinds that rules treat differently. The others are known only to their adapters.
const (
	ClickHouse   Kind = "clickhouse"
	GoogleSheets Kind = "google_sheets"
	Microsoft365 Kind = "microsoft_365" // workbooks on SharePoint and OneDrive
	MySQL        Kind = "mysql"         // and MariaDB
	Postgres     Kind = "postgres"
	Redshift     Kind = "redshift"
	SQLite       Kind = "sqlite"
	SQLServer    Kind = "sqlserver" // and Azure SQL

	OpenAICompatible Kind = "openai_compatible" // a server of POST {base_url}/chat/completions
	ReplyEndpoint    Kind = "reply_endpoint"    // the organisation's own program that answers chats
)

// Replies reports whether connections of the kind answer the visitors of chats.
func (k Kind) Replies() bool { return k == ReplyEndpoint || k == OpenAICompatible }

// Descriptor describes a kind: it drives forms, validation, masking and docs.
type Descriptor struct {
	Kind         Kind
	Title        string
	DocsURL      string
	Ports        []uint16 // usual ports of its servers, the default first; empty if no port is dialled
	OtherPorts   bool     // whether its servers may also use any port from 1024 on
	Capabilities []string
	Grants       string          // the script that gives read access only; values to fill in are in <angle brackets>
	Schema       json.RawMessage // JSON Schema of the credential; x-secret marks secrets, x-order sorts a form
	Consent      bool            // whether a person's consent at the service can replace a credential
	Presets      []Preset        // services that offer such servers

	fields   map[about][]string        // credential fields that a failure can be about
	schema   func() *jsonschema.Schema // compiled at its first use, because a child process uses only one kind
	secrets  []string
	defaults map[string]any
}

// Preset is a service that offers servers of a kind: what its users enter, and what they must know.
type Preset struct {
	ID       string         `json:"id"` // unique within the kind
	Title    string         `json:"title"`
	DocsURL  string         `json:"docs_url"`
	Host     string         `json:"host"`     // an example
	Defaults map[string]any `json:"defaults"` // credential fields
	Advice   string         `json:"advice"`   // sentences for people
}

//go:embed kinds/*.json
var files embed.FS

// kinds returns the descriptors of all kinds, sorted by name. They are read at the first use, since most child
// processes and commands need none.
var kinds = sync.OnceValue(func() []*Descriptor { return mustLoad(files) })

// Kinds returns the descriptors of all kinds, sorted by kind.
func Kinds() []*Descriptor { return slices.Clone(kinds()) }

// Describe returns a kind's descriptor.
func Describe(k Kind) (*Descriptor, bool) {
	all := kinds()
	i, ok := slices.BinarySearchFunc(all, k,
		func(d *Descriptor, k Kind) int { return strings.Compare(string(d.Kind), string(k)) })
	if !ok {
		return nil, false
	}
	return all[i], true
}

// AllowsPort reports whether servers of this kind may use a port. Below 1024 only the usual ones, so
// that connections cannot be used to reach mail servers and similar services.
func (d *Descriptor) AllowsPort(port uint16) bool {
	return slices.Contains(d.Ports, port) || (d.OtherPorts && port >= 1024)
}

func (d *Descriptor) hasSecret(field string) bool { return slices.Contains(d.secrets, field) }

func (k Kind) fields(a about) []string {
	d, ok := Describe(k)
	if !ok {
		return nil
	}
	if a == hostOnly {
		if slices.Contains(d.fields[network], FieldHost) {
			return []string{FieldHost}
		}
		a = network
	}
	return d.fields[a]
}

// mustLoad reads the descriptors. They are part of the program, so an invalid one is a bug that every
// test shows.
func mustLoad(files fs.FS) []*Descriptor {
	names, err := fs.Glob(files, "kinds/*.json")
	if err != nil {
		panic(err)
	}
	var all []*Descriptor
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		d, err := load(text)
		if err != nil {
			panic(fmt.Errorf("%s: %w", name, err))
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *Descriptor) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
	return all
}

// load reads a descriptor file, and adds the fields that several kinds share.
func load(text []byte) (*Descriptor, error) {
	var f struct {
		Kind         Kind               `json:"kind"`
		Title        string             `json:"title"`
		DocsURL      string             `json:"docs_url"`
		Ports        []uint16           `json:"ports"`
		OtherPorts   bool               `json:"other_ports"`
		Capabilities []string           `json:"capabilities"`
		Grants       []string           `json:"grants"` // its lines
		Presets      []Preset           `json:"presets"`
		Fields       map[about][]string `json:"fields"`
		SSH          bool               `json:"ssh"` // whether a server may be reached through an SSH server
		IAM          bool               `json:"iam"` // whether a user may sign in with tokens of AWS or Google
		Consent      bool               `json:"consent"`
		Schema       json.RawMessage    `json:"credential_schema"`

		ClientCertificate bool `json:"client_certificate"` // whether a server may require one
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&f); err != nil {
		return nil, err
	}
	for _, group := range []struct {
		isIn       bool
		properties []byte
	}{{f.SSH, sshProperties}, {f.IAM, iamProperties}, {f.ClientCertificate, clientCertificateProperties},
		{slices.Contains(f.Capabilities, "tables"), statementProperties}} {
		if !group.isIn {
			continue
		}
		var err error
		if f.Schema, err = withProperties(f.Schema, group.properties); err != nil {
			return nil, err
		}
	}
	if f.SSH {
		maps.Copy(f.Fields, sshFields)
	}
	d := &Descriptor{
		Kind: f.Kind, Title: f.Title, DocsURL: f.DocsURL, Ports: f.Ports, OtherPorts: f.OtherPorts,
		Capabilities: f.Capabilities, Consent: f.Consent, Presets: f.Presets,
		Grants: strings.Join(f.Grants, "\n"), Schema: f.Schema, fields: f.Fields, defaults: map[string]any{},
	}
	d.schema = sync.OnceValue(func() *jsonschema.Schema {
		schema, err := compile(d.Schema)
		if err != nil {
			panic(fmt.Errorf("%s: %w", d.Kind, err)) // a bug, as in mustLoad
		}
		return schema
	})
	var marks struct {
		Properties map[string]struct {
			Secret  bool `json:"x-secret"`
			Default any  `json:"default"`
		} `json:"properties"`
	}
	in = json.NewDecoder(bytes.NewReader(f.Schema))
	in.UseNumber()
	if err := in.Decode(&marks); err != nil {
		return nil, err
	}
	for name, p := range marks.Properties {
		if p.Secret {
			d.secrets = append(d.secrets, name)
		}
		if p.Default != nil {
			d.defaults[name] = p.Default
		}
	}
	slices.Sort(d.secrets)
	return d, nil
}

// location names a schema for the compiler. It is absolute, because a relative one makes the compiler
// look up the working directory, which a confined child process does not have.
const location = "https://atrium.invalid/credential.json"

// compile compiles a credential's JSON Schema, which cannot load others.
func compile(text json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	c.AssertFormat()
	for _, f := range formats {
		c.RegisterFormat(f)
	}
	if err := c.AddResource(location, doc); err != nil {
		return nil, err
	}
	return c.Compile(location)
}

// nowhere keeps the schema compiler from files and networks: a descriptor is self-contained.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not part of the schema", url)
}
