package clients

import "testing"

// TestTheServerAcceptsTheVisitorsThatClientsSign runs each client's function for backends against one embed token.
func TestTheServerAcceptsTheVisitorsThatClientsSign(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	inEach(t, func(t *testing.T, d driver) {
		s := w.connect(t, d)
		chat := s.must(t, command{Name: "chatTemplates.create", HasBody: true,
			Body: object{"name": newName(), "status": "published"}}).at(t, "id")
		token := s.must(t, command{Name: "chatTemplates.embedTokens.create", Args: []string{chat}, HasBody: true,
			Body: object{"name": "App", "allowed_origins": []string{"https://shop.example"}, "allow_no_origin": true}})
		sign := func(visitor string, lasts int64) string {
			r := d.do(t, command{Do: "visitor", Text: visitor, Secrets: []string{token.at(t, "visitor_secret")},
				Now: lasts}, nil)
			signature, _ := r.Value.(string)
			if signature == "" {
				t.Fatalf("%+v", r)
			}
			return signature
		}
		open := func(visitor, signature string) result {
			return s.call(t, command{Name: "embed.createSession", HasBody: true, Body: object{
				"token": token.at(t, "token"), "visitor": visitor, "visitor_signature": signature}})
		}
		for _, visitor := range []string{"customer-42", "Zoë 😀"} {
			openedResult := open(visitor, sign(visitor, 60))
			if openedResult.Error != nil {
				t.Fatalf("%s: %+v", visitor, openedResult.Error)
			}
			verifiedResult := s.must(t, command{Name: "embed.verifySession", HasBody: true,
				Body: object{"session": openedResult.at(t, "session")}})
			if got := verifiedResult.Value.(object); got["visitor"] != visitor || got["visitor_signed"] != true {
				t.Errorf("%s: %v", visitor, got)
			}
		}
		signature := sign("customer-42", 60)
		for name, r := range map[string]result{
			"another visitor": open("customer-43", signature), "cut off": open("customer-42", signature[:len(signature)-1]),
			"in the past": open("customer-42", sign("customer-42", -1)),
		} {
			if r.Error == nil || r.Error.Code != "visitor_signature_invalid" {
				t.Errorf("%s: %+v", name, r.Error)
			}
		}
	})
}
