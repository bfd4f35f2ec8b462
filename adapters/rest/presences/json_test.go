package presences

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestAPresenceEncodesItselfAsTheContractsTypeDoes(t *testing.T) {
	same := func(t *testing.T, v presence.View, heartbeatAfter int64) {
		t.Helper()
		body := toPresence(&v)
		body.HeartbeatAfterSeconds = int(heartbeatAfter)
		want, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		got := (&presenceBody{v, heartbeatAfter}).AppendJSON(nil)
		var read, wanted any
		if err := json.Unmarshal(got, &read); err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		if err := json.Unmarshal(want, &wanted); err != nil || !reflect.DeepEqual(read, wanted) {
			t.Errorf("%v\n%s\n%s", err, got, want)
		}
	}
	for access := presence.None; access <= presence.Own; access++ {
		for _, text := range []string{"", "Tea", "<b>&\u2028\"\\/\n\t\x00\x7f", "é🍵"} {
			var v presence.View
			fixture.Fill(t, reflect.ValueOf(&v).Elem(), text)
			v.Access = access
			same(t, v, 0)
			same(t, v, 30)
			for i := range reflect.TypeFor[presence.View]().NumField() {
				without := v
				reflect.ValueOf(&without).Elem().Field(i).SetZero()
				same(t, without, 0)
			}
			same(t, presence.View{Access: access, Devices: []presence.Device{}}, 0)
		}
	}
}
