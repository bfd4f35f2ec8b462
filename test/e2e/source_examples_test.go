package e2e

import "testing"

func init() {
	examples["updateConnection"] = example{make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.connection}, body: object{"name": "The shop in Lyon"}}
	}}
	examples["requestConnectionConsent"] = plainly(object{"kind": "google_sheets"})
	examples["confirmConnection"] = example{make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.connection}}
	}}
	examples["eraseConnection"] = example{make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		id := h.connect(t, h.owner)
		h.owner.do(t, "DELETE", connections+"/"+id, nil, onRed).is(t, 200)
		return target{ids: []string{id}}
	}}
	examples["previewTransforms"] = plainly(object{"type": "contacts", "backend": "sheet",
		"columns": []string{"E-mail"},
		"mapping": []object{{"field": "email", "column": "E-mail"}}, "rows": [][]string{{"ada@example.com"}}})
	examples["getSourceValidation"] = example{make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		h.owner.do(t, "POST", sources+"/"+h.source+"/validate", nil, onRed).is(t, 202)
		return target{ids: []string{h.source}}
	}}
	examples["updateSource"] = ofSource(object{"name": "Newsletter"})
}
