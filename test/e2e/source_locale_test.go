package e2e

import "testing"

// TestAWorkbookIsReadInAnotherLocale changes the locale of a source whose rows were read.
func TestAWorkbookIsReadInAnotherLocale(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, configured("orgs: [{slug: default, sheet_locale: fr-FR}]"))
	ann, viewer := s.user(t, "member"), s.user(t, "viewer")
	workbook(t, s)
	preview := ann.get(t, sources+"/sheet-preview?url=file:since.xlsx")
	preview.has(t, map[string]string{"locale": "fr-FR", "rows.0.1": "14/03/2026"})
	ann.get(t, sources+"/sheet-preview?url=file:since.xlsx&locale=en-US").has(t, map[string]string{
		"locale": "en-US", "rows.0.1": "3/14/2026"})
	id := ann.create(t, sources, object{"type": "contacts", "location": object{"url": "file:since.xlsx"},
		"mapping": []object{{"field": "email", "column": "Email"}, {"field": "first_name", "column": "Since"}}}).at("id")
	path := sources + "/" + id
	refreshed(t, ann, id)
	show := func(want string) *answer {
		t.Helper()
		return ann.get(t, path+"/rows?limit=1&fields=first_name&raw=true").has(t,
			map[string]string{"data.0.first_name": want})
	}
	cursor := show("14/03/2026").at("next_cursor")
	viewer.do(t, "PATCH", path, object{"locale": "de-DE"}).problem(t, 403, "source_forbidden")
	ann.do(t, "PATCH", path, object{"locale": "de"}).problem(t, 422, "invalid_fields")
	previous := ann.get(t, path)
	ann.do(t, "PATCH", path, object{"locale": "de-DE"}).is(t, 200).has(t,
		map[string]string{"location.locale": "de-DE", "last_refreshed_at": previous.at("last_refreshed_at")})
	ann.do(t, "GET", path+"/rows?limit=1&fields=first_name&raw=true&cursor="+cursor, nil).problem(t, 409,
		"source_changed")
	show("14.03.2026")
	jobs := ann.get(t, path+"/jobs").has(t, map[string]string{"data.0.kind": "source.refresh"})
	if jobs.at("data.0.created_at") == "" {
		t.Error(jobs)
	}
	s.user(t, "owner").get(t, "/api/events?type=source.locale_changed&subject="+id).has(t, map[string]string{
		"data.0.data.locale.from": "", "data.0.data.locale.to": "de-DE", "data.1": ""})
	ann.do(t, "PATCH", path, object{"locale": nil}).is(t, 200).has(t, map[string]string{"location.locale": ""})
	show("14/03/2026")
}
