package atrium_test

import (
	"encoding/json"
	"testing"

	atrium "github.com/atrium-hq/atrium/clients/go"
)

func TestTypedReturnsTheDataOfAnEventByItsType(t *testing.T) {
	var e atrium.Event
	text := `{"type":"member.updated","data":{"user_id":"usr_1","role":{"from":"member","to":"admin"},"later":1}}`
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	typed, err := e.Typed()
	data, ok := typed.(*atrium.MemberUpdatedData)
	if err != nil || !ok || data.UserID != "usr_1" || *data.Role.To != "admin" {
		t.Errorf("data = %+v, %v", typed, err)
	}
	e.Type = "moon.landed"
	if typed, err := e.Typed(); typed != nil || err != nil {
		t.Errorf("an unknown type has data: %v, %v", typed, err)
	}
	e.Type, e.Data = atrium.EventTypeMemberUpdated, map[string]any{"user_id": 1}
	if _, err := e.Typed(); err == nil {
		t.Error("data of another form is accepted")
	}
}
