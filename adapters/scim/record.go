package scim

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	filter "github.com/scim2/filter-parser/v2"

	"github.com/atrium-hq/atrium/domain/account"
)

// recordWithin is how long storing what a directory sent may delay the end of its request.
const recordWithin = 2 * time.Second

// record stores what the directory sent, without values. The request has ended: a failure is only logged.
func (h *Handler) record(r *http.Request, w *response) {
	c := w.call
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), recordWithin)
	defer cancel()
	request := account.DirectoryRequest{Token: c.token, Method: r.Method, Attributes: c.names, Status: w.status,
		Code: w.refused.ScimType, Detail: w.refused.Detail}
	request.Outcome = account.DirectoryChanged
	if r.Method == http.MethodGet || r.Method == http.MethodHead || strings.HasSuffix(r.URL.Path, "/.search") {
		request.Outcome = account.DirectoryRead
	}
	request.Resource, request.Subject = resourceOf(r.URL.Path)
	if location := w.Header().Get("Location"); request.Subject == "" {
		_, request.Subject = resourceOf(strings.TrimPrefix(location, strings.TrimSuffix(c.base, Path)))
	}
	if err := h.users.directory.Record(ctx, c.by, c.org, request); err != nil {
		h.users.log.ErrorContext(ctx, "what a directory sent could not be recorded", "err", err)
	}
}

// resourceOf returns what a path leads to, and its id; empty for several.
func resourceOf(path string) (kind account.DirectoryResource, id string) {
	name, id, _ := strings.Cut(strings.TrimPrefix(path, Path+"/"), "/")
	switch name {
	case "Users":
		return account.DirectoryUserResource, id
	case "Groups":
		return account.DirectoryGroupResource, id
	}
	return account.DirectoryOtherResource, ""
}

// refusedBody is the part of an error's body that is recorded (RFC 7644, section 3.12).
type refusedBody struct {
	ScimType string `json:"scimType"`
	Detail   string `json:"detail"`
}

// note reads an error's body.
func (b *refusedBody) note(status int, body []byte) {
	if status >= http.StatusBadRequest {
		_ = json.Unmarshal(body, b) // another body says nothing
	}
}

// nameMembers notes the names of an object's members, and of the members of these.
func (c *call) nameMembers(members map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if strings.EqualFold(name, "schemas") {
			continue
		}
		c.names = append(c.names, name)
		items, isList := members[name].([]any)
		if !isList {
			items = []any{members[name]}
		}
		for _, item := range items {
			inner, _ := item.(map[string]any)
			for _, part := range slices.Sorted(maps.Keys(inner)) {
				c.names = append(c.names, name+separatorAfter(name)+part)
			}
		}
	}
}

// separatorAfter returns what is between a name and the name of its part: an extension is a schema.
func separatorAfter(name string) string {
	if _, _, isSchema := cutSchema(name); isSchema {
		return ":"
	}
	return "."
}

// nameOperations notes the names in a PATCH's operations.
func (c *call) nameOperations(members map[string]any) {
	operations, _ := member(members, "Operations").([]any)
	for _, one := range operations {
		operation, _ := one.(map[string]any)
		if path, _ := member(operation, "path").(string); path != "" {
			c.names = append(c.names, withoutCondition(path))
			continue
		}
		if value, isObject := member(operation, "value").(map[string]any); isObject {
			for _, name := range slices.Sorted(maps.Keys(value)) {
				c.names = append(c.names, withoutCondition(name))
			}
		}
	}
}

// withoutCondition cuts a path's condition: it has values.
func withoutCondition(path string) string {
	first, last := strings.IndexByte(path, '['), strings.LastIndexByte(path, ']')
	switch {
	case first < 0:
		return path
	case last < first:
		return path[:first]
	}
	return path[:first] + path[last+1:]
}

// nameFilter notes the names in a filter.
func (c *call) nameFilter(text string) {
	e, err := filter.ParseFilter([]byte(text))
	if err != nil {
		c.names = append(c.names, account.UnknownAttribute)
		return
	}
	c.nameExpression(e, "")
}

func (c *call) nameExpression(e filter.Expression, prefix string) {
	switch e := e.(type) {
	case *filter.ValuePath:
		c.nameExpression(e.ValueFilter, e.AttributePath.AttributeName+".")
	case *filter.LogicalExpression:
		c.nameExpression(e.Left, prefix)
		c.nameExpression(e.Right, prefix)
	case *filter.NotExpression:
		c.nameExpression(e.Expression, prefix)
	case *filter.AttributeExpression:
		c.names = append(c.names, prefix+e.AttributePath.String())
	}
}
