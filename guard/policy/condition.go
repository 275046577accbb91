package policy

import "fmt"

// Condition names something that a call does. The vocabulary is closed: a rule cannot say anything else, so a
// policy stays something that can be read.
type Condition string

// set holds conditions, one bit each.
type set uint64

// vocabulary is every condition; its order gives the bits.
var vocabulary = [...]Condition{
	"reservedAction", "unknownAction", "nonHTTPNavigation", "rawHTMLRead", "networkBodyRead", "offScopeNavigation", "offScopeWrite",
	"urlPayload", "submitsForm", "uploadsFile", "leavesPinnedTab", "solvesCaptcha", "releasesSecret", "secretOffScope", "typesOwnSecret",
	"requiresApproval",
	"meetingWithoutGrant", "recordsWithoutAnnouncement", "joinsMeeting", "recordsMeeting", "speaksInMeeting", "sendsMeetingChat",
	"readsRecording", "deletesRecording", "opensPersistentProfile", "usesDownload", "createsUpload", "changesSettings",
}

// Bits in the order of vocabulary.
const (
	reservedAction set = 1 << iota
	unknownAction
	nonHTTPNavigation
	rawHTMLRead
	networkBodyRead
	offScopeNavigation
	offScopeWrite
	urlPayload
	submitsForm
	uploadsFile
	leavesPinnedTab
	solvesCaptcha
	releasesSecret
	secretOffScope
	typesOwnSecret
	requiresApproval
	meetingWithoutGrant
	recordsWithoutAnnouncement
	joinsMeeting
	recordsMeeting
	speaksInMeeting
	sendsMeetingChat
	readsRecording
	deletesRecording
	opensPersistentProfile
	usesDownload
	createsUpload
	changesSettings
)

var bitOf = func() map[Condition]set {
	m := map[Condition]set{}
	for i, c := range vocabulary {
		m[c] = 1 << i
	}
	return m
}()

// Conditions lists the vocabulary.
func Conditions() []Condition { return append([]Condition(nil), vocabulary[:]...) }

// Check tells whether the condition is in the vocabulary.
func (c Condition) Check() error {
	if bitOf[c] == 0 {
		return fmt.Errorf("condition %.60q is not in the vocabulary", string(c))
	}
	return nil
}

func setOf(list []Condition) (set, error) {
	var s set
	for _, c := range list {
		if err := c.Check(); err != nil {
			return 0, err
		}
		s |= bitOf[c]
	}
	return s, nil
}
