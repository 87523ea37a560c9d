package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"path"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// inventory says what a program was built from, in the words of CycloneDX.
type inventory struct {
	main       string
	components []cyclonedx.Component
}

// takeInventory reads from a program which modules are in it: that is never more, or less, than there are.
func takeInventory(executable string, licenses licenses) (*inventory, error) {
	info, err := buildinfo.ReadFile(executable)
	if err != nil {
		return nil, fmt.Errorf("read what the program was built from: %w", err)
	}
	i := &inventory{main: info.Main.Path}
	if err := i.add("std", strings.TrimPrefix(info.GoVersion, "go"), licenses, "std"); err != nil {
		return nil, err
	}
	for _, module := range info.Deps {
		used := module
		if module.Replace != nil {
			used = module.Replace
		}
		name := used.Path
		if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") {
			name = module.Path // a directory, which nobody else knows
		}
		if len(licenses[module.Path]) == 0 {
			return nil, fmt.Errorf("%s is in the program and go list does not know it: build again", module.Path)
		}
		if err := i.add(name, used.Version, licenses, module.Path); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// add adds a version of a module. Its licences are known by the name that the program's sources have for it.
func (i *inventory) add(module, version string, licenses licenses, known string) error {
	names, err := licenses.names(known)
	if err != nil {
		return err
	}
	component := cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, Name: module, Version: version,
		PackageURL: packageURL(module, version), BOMRef: packageURL(module, version),
	}
	var choices cyclonedx.Licenses
	for _, id := range names {
		choices = append(choices, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	if len(choices) > 0 {
		component.Licenses = &choices
	}
	i.components = append(i.components, component)
	return nil
}

// packageURL names a version of a module as scanners of vulnerabilities do.
func packageURL(module, version string) string {
	return "pkg:golang/" + path.Clean(module) + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// encode writes the inventory of an image. It has neither a serial number nor a time of its own: two builds give the same.
func (i *inventory) encode(p program, platform, digest string, r release) ([]byte, error) {
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = ""
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: r.timestamp(),
		Component: &cyclonedx.Component{
			Type: cyclonedx.ComponentTypeContainer, Name: p.name, Version: r.version, Description: p.about,
			BOMRef: packageURL(i.main, r.version) + "#" + strings.TrimPrefix(p.main, "./"),
			Properties: &[]cyclonedx.Property{
				{Name: "platform", Value: platform}, {Name: "image", Value: digest}, {Name: "commit", Value: r.commit},
			},
		},
	}
	bom.Components = &i.components
	var text bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return nil, fmt.Errorf("encode inventory: %w", err)
	}
	return text.Bytes(), nil
}
