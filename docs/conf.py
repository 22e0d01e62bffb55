# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation site. `make docs` builds it, from a copy of this folder to which it adds the pages of the collection's plugins (tests/docsite)."""

from __future__ import annotations

project = "streamops.kafka_recovery"
author = "StreamOps"
copyright = "2026, StreamOps"
html_title = "Kafka recovery with Ansible"
language = "en"

extensions = ["myst_parser", "sphinx.ext.intersphinx", "sphinx_antsibull_ext", "docsite.extension"]

# Anchors of headings as Git hosts have them.
myst_heading_anchors = 4

html_theme = "sphinx_ansible_theme"
html_theme_options = {
    "collapse_navigation": False,
    "display_version": False,
    "navigation_depth": 3,
    "show_extranav": False,
    "style_nav_header_background": "#1f4e6b",
    "show_rtd_ethical_ads": False,
    "titles_only": True,
    "topbar_links": {},
}
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_use_index = False
html_domain_indices = False
smartquotes = False  # what stands in a text may be typed into a shell
pygments_style = "ansible"
highlight_language = "none"
antsibull_ext_color_scheme = "default"

# Labels of Ansible's own documentation that pages of plugins refer to: an inventory that is written by the build, because nothing is asked over the network.
intersphinx_mapping = {"ansible": ("https://docs.ansible.com/ansible/latest/", "ansible.inv")}

nitpicky = True
