package scim

import (
	"errors"
	"net/http"
	"time"

	"github.com/elimity-com/scim"
	scimerrors "github.com/elimity-com/scim/errors"
	filter "github.com/scim2/filter-parser/v2"
)

// listParams returns a search as a list.
func listParams(params scim.SearchParams) scim.ListRequestParams {
	return scim.ListRequestParams{Count: params.Count, StartIndex: params.StartIndex,
		FilterValidator: params.FilterValidator}
}

// everything lists users, and then groups: it implements scim.RootQueryHandler and scim.ResourceSearcher (RFC 7644,
// sections 3.4.2.1 and 3.4.3).
type everything struct{ *Handler }

// GetAll implements scim.RootQueryHandler.
func (s *everything) GetAll(r *http.Request, params scim.ListRequestParams) (scim.Page, error) {
	return s.Search(r, scim.SearchParams{Count: params.Count, StartIndex: params.StartIndex,
		Filter: r.URL.Query().Get("filter")})
}

// Search implements scim.ResourceSearcher. A kind of resource that lacks an attribute of the filter has no results.
func (s *everything) Search(r *http.Request, params scim.SearchParams) (page scim.Page, err error) {
	kinds := []struct {
		name, path string
		kind       kind
		list       func(r *http.Request, e filter.Expression, skip, limit int) (scim.Page, error)
	}{
		{"User", "/Users/", userKind, s.users.list}, {"Group", "/Groups/", groupKind, s.groups.list},
	}
	var e filter.Expression
	if params.Filter != "" {
		if e, err = filter.ParseFilter([]byte(params.Filter)); err != nil {
			return page, errFilter
		}
	}
	page.Resources = []scim.Resource{}
	isSelectable := false
	for _, k := range kinds {
		skip := max(params.StartIndex-1-page.TotalResults, 0)
		found, err := k.list(r, e, skip, params.Count-len(page.Resources))
		if refused, ok := errors.AsType[scimerrors.ScimError](err); ok && refused.ScimType == errFilter.ScimType {
			continue
		}
		if err != nil {
			return page, err
		}
		isSelectable = true
		page.TotalResults += found.TotalResults
		for _, one := range found.Resources {
			one.Attributes["schemas"] = []string{k.kind.schema.ID}
			one.Attributes["meta"] = map[string]any{"resourceType": k.name,
				"location": callOf(r).base + k.path + one.ID, "created": one.Meta.Created.Format(time.RFC3339)}
			page.Resources = append(page.Resources, one)
		}
	}
	if !isSelectable {
		return page, errFilter
	}
	return page, nil
}
