package main

import (
	"fmt"

	"parley/internal/settings"
	"parley/platforms"
	"parley/platforms/livekit"
	"parley/platforms/meet"
	roommodule "parley/platforms/room"
	"parley/platforms/zoom"
)

// platformModules is every platform that this program can attend.
func platformModules() platforms.List {
	return platforms.List{roommodule.Platform(), livekit.Platform(), meet.Platform(), zoom.Platform()}
}

// door finds whose a link is, by the hosts that the settings name.
type door struct {
	list    platforms.List
	origins platforms.Origins
}

func newDoor(v *settings.Values) (*door, error) {
	d := &door{list: platformModules()}
	var err error
	if d.origins.Rooms, err = platforms.ParseOriginList(v.String("PARLEY_ROOM_ORIGINS")); err != nil {
		return nil, fmt.Errorf("PARLEY_ROOM_ORIGINS: %w", err)
	}
	if d.origins.LiveKit, err = platforms.ParseOriginList(v.String("PARLEY_LIVEKIT_ORIGINS")); err != nil {
		return nil, fmt.Errorf("PARLEY_LIVEKIT_ORIGINS: %w", err)
	}
	if d.origins.Standins, err = platforms.ParseStandins(v.String("PARLEY_PLATFORM_ORIGINS")); err != nil {
		return nil, fmt.Errorf("PARLEY_PLATFORM_ORIGINS: %w", err)
	}
	return d, nil
}

// find reads a link, or an invitation that holds one.
func (d *door) find(text string) (platforms.Platform, platforms.Link, error) {
	link, err := d.origins.Parse(text)
	if err != nil {
		return platforms.Platform{}, link, err
	}
	p, err := d.list.For(link)
	return p, link, err
}

// names are the platforms' names, for people.
func (d *door) names() []string {
	var names []string
	for _, p := range d.list {
		names = append(names, platforms.Title(p.Name))
	}
	return names
}
