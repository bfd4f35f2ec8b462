package connections

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/source"
)

// toConnection returns c with the sources that read through it, and the chats of uses that reply through it.
func toConnection(
	r *server.Call, c *connection.Connection, sources []openapi.ConnectionSource, uses []chat.ConnectionUse,
) openapi.Connection {
	out := openapi.Connection{
		ID:     string(c.ID),
		Kind:   string(c.Kind),
		Name:   c.Name,
		Status: openapi.ConnectionStatus(c.Status),
		Config: toConfig(c.Config),
		Secret: openapi.ConnectionSecret{
			Set:         convert.NonNil(c.Secrets),
			Fingerprint: openapi.OrNull(c.Fingerprint),
			UpdatedAt:   openapi.Time(c.SecretUpdatedAt),
		},
		Server:              toServer(c.Server),
		Checks:              convert.Slice(c.Checks, convert.ToCheck),
		Failure:             nullable.NewNullNullable[openapi.ConnectionFailure](),
		Warnings:            toCodes(connection.Report{Checks: c.Checks}.Warnings()),
		ConsecutiveFailures: c.Failures,
		LastVerifiedAt:      convert.OrNullTime(c.LastVerifiedAt),
		NextVerifyAt:        nextVerify(c),
		Sources:             convert.NonNil(sources),
		ChatTemplates:       []openapi.ConnectionChat{},
		CreatedBy:           openapi.OrNull(string(c.CreatedBy)),
		Ownerless:           c.Ownerless,
		RevokedAt:           convert.OrNullTime(c.RevokedAt),
		Revision:            c.Revision,
		CreatedAt:           openapi.Time(c.CreatedAt),
		UpdatedAt:           openapi.Time(c.UpdatedAt),
	}
	for _, t := range uses {
		if t.Connection == c.ID {
			out.ChatTemplates = append(out.ChatTemplates, openapi.ConnectionChat{ID: string(t.ID), Name: t.Name})
		}
	}
	if f := c.Failure(); f != nil {
		out.Failure = nullable.NewNullableWithValue(convert.ToFailure(f, server.Observed(r.Request).Org.Egress))
	}
	return out
}

// toConfig returns a configuration with the escapes of other texts in bodies: encoding/json also escapes <, > and &.
func toConfig(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	config := jsontext.Value(bytes.Clone(raw))
	if config.Format(jsontext.PreserveRawStrings(false), jsontext.EscapeForJS(true)) != nil {
		return raw
	}
	return json.RawMessage(config)
}

// nextVerify returns when c is verified next; null if it is revoked.
func nextVerify(c *connection.Connection) nullable.Nullable[openapi.Time] {
	if c.Status == connection.Revoked {
		return convert.OrNullTime(time.Time{})
	}
	return convert.OrNullTime(c.NextCheckAt)
}

func toConnectionSource(s *source.Summary) openapi.ConnectionSource {
	return openapi.ConnectionSource{ID: string(s.ID), Name: s.Name, Status: string(s.Status)}
}

func toServer(s connection.Server) openapi.ConnectionServer {
	return openapi.ConnectionServer{Product: s.Product, Version: s.Version, CanWrite: s.CanWrite}
}

func toCodes(codes []connection.Code) []string {
	return convert.Slice(codes, func(c *connection.Code) string { return string(*c) })
}

// toKind returns a kind as the caller's org offers it.
func toKind(r *server.Call, d *connection.Descriptor) openapi.ConnectionKind {
	return openapi.ConnectionKind{
		Kind:             string(d.Kind),
		Title:            d.Title,
		DocsURL:          d.DocsURL,
		Capabilities:     convert.NonNil(d.Capabilities),
		Grants:           d.Grants,
		CredentialSchema: d.Schema,
		Consent:          r.Connections.AsksConsent(r.By.Org, d.Kind),
		Ports:            convert.Slice(d.Ports, func(p *uint16) int { return int(*p) }),
		Presets:          convert.Slice(d.Presets, toPreset),
	}
}

func toPreset(p *connection.Preset) openapi.ConnectionPreset {
	return openapi.ConnectionPreset{
		ID:       p.ID,
		Title:    p.Title,
		DocsURL:  p.DocsURL,
		Host:     p.Host,
		Defaults: p.Defaults,
		Advice:   p.Advice,
	}
}
