package room

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/platformtest"
	"parley/room"
)

func TestMain(m *testing.M) { platformtest.Main(m) }

func TestSuite(t *testing.T) {
	platformtest.Browser(t)
	other := newStage(t, room.Options{})
	notAMeeting := other.link
	notAMeeting.URL = notAMeeting.Origin + "/nothing-here"
	platformtest.Run(t, platformtest.Config{
		Platform:    Platform(),
		Stage:       func(t *testing.T, lobby bool) platformtest.Stage { return newStage(t, room.Options{Lobby: lobby}) },
		NotAMeeting: notAMeeting,
	})
}

func TestThePageInEveryLanguage(t *testing.T) {
	platformtest.Browser(t)
	for lang := range ui.Targets["leave"].Names {
		t.Run(lang, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			st := newStage(t, room.Options{})
			host := st.Host(t, "Ada")
			call, err := Open(ctx, platformtest.OpenPage(t, Platform(), st.Link()), st.Link(), platforms.Options{Language: lang, Log: platformtest.Quiet})
			if err != nil {
				t.Fatal(err)
			}
			defer call.Close()
			w := platformtest.NewWatch(call.Events())
			if err := call.Join(ctx, meeting.JoinRequest{Name: "Parley (AI)"}); err != nil {
				t.Fatal(err)
			}
			w.Place(t, 0, meeting.PlaceIn)
			if r, err := call.SendChat(ctx, "ok", meeting.Everyone); err != nil || r.ID == "" {
				t.Error(r, err)
			}
			if d, err := call.SetMicrophone(ctx, true); err != nil || d != meeting.DeviceOn {
				t.Error(d, err)
			}
			if err := call.RaiseHand(ctx, true); err != nil {
				t.Error(err)
			}
			if err := host.EndForAll(ctx); err != nil {
				t.Error(err)
			}
			if out := w.Place(t, 0, meeting.PlaceOut); out.Reason != string(meeting.ReasonEndedForAll) {
				t.Errorf("%+v", out)
			}
		})
	}
}

func TestAFullRoomAndABrokenServer(t *testing.T) {
	st := newStage(t, room.Options{MaxPeople: 1})
	platformtest.Browser(t)
	st.Host(t, "Ada")
	call, _, w := platformtest.Attend(t, Platform(), st.Link())
	if err := call.Join(t.Context(), meeting.JoinRequest{Name: "Parley (AI)"}); err != nil {
		t.Fatal(err)
	}
	if out := w.Place(t, 0, meeting.PlaceOut); out.Reason != string(meeting.ReasonRefusedByPlatform) {
		t.Errorf("%+v", out)
	}
	w.Never(t, 0, meeting.PlaceIn)

	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer broken.Close()
	link := st.Link()
	link.URL, link.Origin = broken.URL+"/room/x", broken.URL
	call, _, _ = platformtest.Attend(t, Platform(), link)
	var end *meeting.EndError
	if err := call.Join(t.Context(), meeting.JoinRequest{Name: "Parley (AI)"}); !errors.As(err, &end) || end.Reason != meeting.ReasonUnreachable {
		t.Errorf("%v", err)
	}
}

func TestAServerThatGoesAwayLosesThePage(t *testing.T) {
	platformtest.Browser(t)
	st := newStage(t, room.Options{})
	call, _, w := platformtest.Attend(t, Platform(), st.Link())
	if err := call.Join(t.Context(), meeting.JoinRequest{Name: "Parley (AI)"}); err != nil {
		t.Fatal(err)
	}
	w.Place(t, 0, meeting.PlaceIn)
	_ = st.server.Close()
	out := w.Place(t, 0, meeting.PlaceOut)
	if out.Reason != string(meeting.ReasonEndedForAll) && out.Reason != string(meeting.ReasonPageLost) {
		t.Errorf("%+v", out)
	}
}
