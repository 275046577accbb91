package zoom

import (
	"testing"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/platformtest"
	"parley/platforms/zoom/standin"
	stand "parley/testkit/standin"
)

// hideNames takes away the parts of the list that hold the bare names: only the labels are left to read.
const hideNames = `() => {
	setInterval(() => document.querySelectorAll('.participants-item__display-name').forEach((el) => { el.className = ''; }), 50);
	return true;
}`

// Names have commas and brackets of their own, as people write their pronouns and their second name first.
func TestNamesAreWholeWhereOnlyALabelHasThem(t *testing.T) {
	platformtest.Browser(t)
	const host, guest = "Lovelace, Ada (she/her)", "Hopper, Grace"
	s := stand.Scenario{AfterJoin: "in", People: []stand.Person{{Name: host, Host: true}, {Name: guest, Extra: true}}}
	st := platformtest.OpenStand(t, standin.Kind(), stand.Options{Scenario: s})
	call, page, w := platformtest.Attend(t, Platform(), st.Link())
	if err := call.Join(t.Context(), meeting.JoinRequest{Name: "Parley (AI notetaker)"}); err != nil {
		t.Fatal(err)
	}
	w.Place(t, 0, meeting.PlaceIn)
	var ok bool
	if err := platforms.Read(t.Context(), page, hideNames, nil, &ok); err != nil {
		t.Fatal(err)
	}
	var last []meeting.Person
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(200 * time.Millisecond) {
		for _, e := range w.After(0) {
			if p, is := e.(meeting.SeenPeople); is {
				last = p.People
			}
		}
		found := map[string]meeting.Person{}
		for _, p := range last {
			found[p.Name] = p
		}
		if len(last) == 3 && found[host].Host && !found[guest].Self && found[guest].Name == guest && found["Parley (AI notetaker)"].Self {
			return
		}
	}
	t.Errorf("the list is read as %+v", last)
}
