# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The template of the report page: first the problem, then the next steps, then the evidence."""

from __future__ import annotations

TEMPLATE = """\
{%- macro legend(entries) -%}
<figcaption><ul>{% for key, title in entries.items() %}<li><span class="swatch of-{{ key }}"></span>{{ title }}</li>{% endfor %}</ul></figcaption>
{%- endmacro -%}
{%- macro table(name, label) -%}
<table class="cards" data-table="{{ name }}" aria-label="{{ label }}"></table>
{%- endmacro -%}
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Kafka recovery report: {{ doc.report }}</title>
<link rel="icon" href="data:,">
<style>{{ style }}</style>
</head>
<body>
<a class="skip" href="#todo">Skip to what to do next</a>
<header class="verdict {{ doc.headline.state }}"><div class="wide">
<p class="state">{{ state }}</p>
<h1>{{ doc.headline.text }}</h1>
{% if doc.headline.next %}<p class="next"><bdi>{{ doc.headline.next }}</bdi></p>{% endif %}
<p class="facts">{% if doc.run_ids %}{{ 'Run' if doc.run_ids | length == 1 else 'Runs' }} <bdi>{{ doc.run_ids[:5] | join(', ') }}</bdi>
{%- if doc.run_ids | length > 5 %} and {{ doc.run_ids | length - 5 }} more{% endif %} · {% endif -%}
{{ doc.clusters | length | grouped }} {{ 'cluster' if doc.clusters | length == 1 else 'clusters' }}
· report {{ doc.report }}, written {{ doc.generated_at }}</p>
</div></header>
<nav class="wide" aria-label="Sections"><ul>
{% for anchor, title in sections.items() %}<li><a href="#{{ anchor }}">{{ title }}</a></li>{% endfor %}
</ul></nav>
<main class="wide">

<dl class="tiles">
{% for tile in tiles %}<div><dt>{{ tile.title }}</dt><dd>{{ tile.value }}</dd>{% if tile.note %}<dd class="note">{{ tile.note }}</dd>{% endif %}</div>
{% endfor %}</dl>

<section id="todo">
<h2>What to do next</h2>
{% if doc.held %}<ol class="steps">
{% for group in doc.held[:steps_shown] %}<li>
<p><strong>{{ group.partitions | grouped }} {{ 'partition' if group.partitions == 1 else 'partitions' }} in <bdi>{{ group.cluster }}</bdi></strong>:
{{ outcomes[group.outcome] }}{% if group.word %} (<code>{{ group.word }}</code>){% endif %}.
<span class="quiet">First: {{ group.first.topic }}-{{ group.first.partition }}.</span></p>
<p>{{ group.next_step | capitalised }}.</p>
{% if group.command %}<pre tabindex="0" aria-label="Command">{{ group.command }}</pre>
{% elif group.word != 'cluster_metadata' %}<p class="quiet">The table below has the command for each partition.</p>{% endif %}
</li>
{% endfor %}</ol>
{% if doc.held | length > steps_shown %}<p>{{ (doc.held | length - steps_shown) | grouped }} more groups like these are in the table below.</p>{% endif %}
<p class="quiet">{% if not doc.inventory %}INVENTORY is your inventory file. {% endif %}Commands may be repeated: partitions with a leader do not change.</p>
{% else %}<p>{{ nothing_to_do }}</p>{% endif %}
{% if downstream_next %}<p>{{ downstream_next }} See <a href="#consumers">Consumers and producers</a>.</p>{% endif %}
</section>

{% if doc.totals.partitions %}
<section id="partitions">
<h2>Partitions and their evidence</h2>
<p class="on-screen quiet">Those without a leader first. {{ cut(doc.partitions, doc.totals.partitions, 'partitions') }}</p>
<p class="filter"><label>Outcome <select data-filters="partitions" data-column="outcome"><option value="">all</option>
{% for outcome, number in doc.totals.outcomes.items() if number %}
<option value="{{ outcome }}">{{ outcomes[outcome] }}: {{ number | grouped }}</option>{% endfor %}
</select></label></p>
{{ table('partitions', 'Partitions') }}
<div class="on-paper"><p>{{ 'Each partition without a leader:' if doc.totals.without_leader else 'No partition is without a leader.' }}
{% if listed_on_paper < doc.totals.without_leader %}
the first {{ listed_on_paper | grouped }} of {{ doc.totals.without_leader | grouped }}; the results files have the others.{% endif %}
</p><div id="paper"></div></div>
</section>

<section id="clusters">
<h2>Clusters and topics</h2>
{% if charts.outcomes %}<figure>{{ charts.outcomes }}{{ legend(charts.outcome_legend) }}
{% if doc.clusters | length > most_bars %}
<p class="quiet">The {{ most_bars }} clusters with most partitions without a leader.</p>{% endif %}</figure>{% endif %}
{{ table('clusters', 'Clusters') }}
<h3>Topics</h3>
<p class="quiet">{{ cut(doc.topics, topics_limit, 'topics') if doc.topics | length >= topics_limit else '' }}</p>
{{ table('topics', 'Topics') }}
</section>

<section id="loss">
<h2>Records lost</h2>
<p>Bounds are proven. Partitions without a bound are counted as unknown, and add nothing to a sum.</p>
<dl class="terms">
<dt>Given up, in partitions that got a leader</dt><dd>{{ doc.loss.given_up.words | capitalised }}.</dd>
<dt>At stake, in partitions without a leader, should the best survivor be elected</dt><dd>{{ doc.loss.at_stake.words | capitalised }}.</dd>
</dl>
</section>
{% endif %}

{% if 'consumers' in sections %}<section id="consumers">
<h2>Consumers and producers</h2>
{% if downstream %}<p>{{ downstream }}</p>{% endif %}
{% if beyond is not none %}<p>{% if downstream %}For clusters that were not checked, only offsets from before the election are known. {% endif %}{% if beyond %}
In {{ beyond | grouped }} {{ 'partition' if beyond == 1 else 'partitions' }} a survivor confirms a committed offset of a consumer group that the log of the
leader does not hold.
These groups have read lost records, and continue as <code>auto.offset.reset</code> says. They are on partitions whose lower bound is from a consumer group.
{% else %}No committed offset that a survivor confirms lies beyond the log of a leader.{% endif %}</p>{% endif %}
{% if doc.impact.looks %}{{ table('looks', 'Checks of consumers and producers') }}
{% if doc.impact.totals.due %}<p class="quiet">{% if not doc.inventory %}INVENTORY is your inventory file. {% endif %}
The check changes nothing. Run it before clients continue:
after a group has committed in the new log, it is not known what it skipped.</p>{% endif %}
{% else %}<p>No partition was given a leader, so no consumer or producer is affected yet.</p>{% endif %}
{% if doc.impact.groups %}<h3>Consumer groups</h3>
<p class="quiet">Kafka sets offsets only of a group without members: stop the consumers of a group that must be stopped first, run the command, start them.
The command of a group leaves out offsets in doubt. Each of them has its own command in the file impact/RUN/CLUSTER.json of the workdir.
{{ cut(doc.impact.groups, doc.impact.known.groups, 'groups') }}</p>
{{ table('hit_groups', 'Consumer groups') }}{% endif %}
{% if doc.impact.transactions %}<h3>Transactions</h3>
<p class="quiet">{{ cut(doc.impact.transactions, doc.impact.known.transactions, 'transactions') }}</p>
{{ table('transactions', 'Transactions that are not ended') }}{% endif %}
{% if doc.impact.partitions %}<h3>Not readable, or not writable</h3>
<p class="quiet">{{ cut(doc.impact.partitions, doc.impact.known.partitions, 'partitions') }}</p>
{{ table('unusable', 'Partitions that cannot be read or written') }}{% endif %}
{% if doc.impact.canaries %}<h3>Canaries</h3>
<p class="quiet">Records that were written with acks=all, and fetched back. {{ cut(doc.impact.canaries, doc.impact.known.canaries, 'canaries') }}</p>
{{ table('canaries', 'Canaries') }}{% endif %}
{% if doc.impact.warnings %}<h3>Not known</h3>
{{ table('unknown', 'Not known') }}{% endif %}
</section>{% endif %}

<section id="risk">
<h2>At risk: one failure from offline</h2>
{% if doc.risk.snapshots %}
<p>{{ risk_summary }}</p>
{% if charts.risks %}<figure>{{ charts.risks }}{{ legend(charts.risk_legend) }}</figure>{% endif %}
{% if kinds %}<div class="scroll"><table><thead><tr>
<th scope="col">Risk</th><th scope="col" class="n">Partitions</th><th scope="col" class="n">Change</th></tr></thead><tbody>
{% for kind in kinds %}<tr><td>{{ risk_titles.get(kind.risk, kind.risk) }}</td><td class="n">{{ kind.partitions | grouped }}</td>
<td class="n">{{ 'no earlier snapshot' if kind.change is none else kind.change | signed }}</td></tr>{% endfor %}
</tbody></table></div>
<h3>Clusters</h3>{{ table('risk_clusters', 'Clusters by risk') }}
<h3>Partitions</h3><p class="quiet">{{ cut(doc.risk.partitions, at_risk_total, 'partitions') }}</p>{{ table('risk_partitions', 'Partitions at risk') }}
<h3>Topics</h3>{{ table('risk_topics', 'Topics by risk') }}
{% if doc.risk.brokers %}<h3>Brokers that partitions depend on</h3>
<p class="quiet">Without this broker alone they would be offline.</p>{{ table('risk_brokers', 'Brokers') }}{% endif %}
{% else %}<p>No partition of the {{ doc.risk.snapshots | length | grouped }} newest snapshots is at risk.</p>{% endif %}
{% else %}<p>There is no healthy snapshot. Collect snapshots with a timer, for example every minute:</p>
<pre tabindex="0">{{ snapshot_command }}</pre>{% endif %}
</section>

{% if doc.what_if %}<section id="what-if">
{% set alone = doc.what_if.brokers | length == 1 %}
<h2>What if {{ 'broker' if alone else 'brokers' }} {{ doc.what_if.brokers | join(', ') }} {{ 'was' if alone else 'were' }} lost</h2>
<p>{{ doc.what_if.words }}</p>
{{ table('what_if', 'Partitions that would go offline') }}
</section>{% endif %}

<section id="history">
<h2>Timeline</h2>
{% if steps %}<div class="scroll"><table><tbody>
{% for step in steps %}<tr><th scope="row">{{ step.at }}</th><td>{{ step.text }}</td></tr>{% endfor %}
</tbody></table></div>{% endif %}
{% if doc.runs %}<h3>Runs</h3>{{ table('runs', 'Runs') }}{% endif %}
{% if charts.trend %}<h3>Day by day</h3>
<figure>{{ charts.trend }}{{ legend(charts.trend_legend) }}</figure>{% endif %}
{% if not steps and not doc.runs %}<p>No recovery has been run yet.</p>{% endif %}
</section>

<section id="quarantine">
<h2>Files that were refused</h2>
{% if doc.quarantine.files %}<p>These files were not used. {{ cut(doc.quarantine.files, refused_total, 'files') }}</p>
{{ table('refused', 'Files that were refused') }}
{% else %}<p>None.</p>{% endif %}
</section>

<section id="terms">
<h2>Terms</h2>
<dl class="terms">
<dt>Without a leader</dt><dd>Clients cannot write to the partition or read from it until a replica is elected.</dd>
<dt>At least, at most</dt>
<dd>Bounds of lost committed records, counted as offsets. Compaction and transactions leave gaps, so there may be fewer records.</dd>
<dt>Estimate</dt><dd>The rate at the last healthy snapshot, times the age of that snapshot. It is between the bounds, and is not proven.</dd>
<dt>One failure from offline</dt><dd>Only one broker is left that may lead the partition without loss. Score ranks by the worst risk first.</dd>
<dt>Change</dt><dd>Since the last snapshot of an earlier day; on the first day, since the first snapshot.</dd>
</dl>
</section>
</main>
<footer class="wide">The same content for programs: report.json, beside this file.</footer>
<noscript><p class="wide">The tables need JavaScript, which is part of this page. report.json has the same content.</p></noscript>
<script type="application/json" id="data">{{ data }}</script>
<script type="module">{{ script }}</script>
</body>
</html>
"""
