//! All parameters as a page, made from their rows.

use super::{CHOICES, Choices, Curve, Found, Scalar, typed};

/// The page in Markdown: a table for each shape. docs/parameters.md is this.
pub fn page() -> String {
    let mut page = String::from(
        "# Parameters of a model\n\nMade by `fathom net parameters`. `--set NAME=VALUE` changes one of them to see what would be if; \
         [model.md](model.md) says how a calibration finds them.\n\n## Choices\n\n`--set device=plain_queue` makes one.\n\n\
         | name | words | assumed | what it is |\n|---|---|---|---|\n",
    );
    for choice in CHOICES {
        let words: Vec<String> = choice.words.iter().map(|word| format!("`{word}`")).collect();
        page += &line(&[
            &format!("`{}`", choice.name),
            &words.join(" "),
            (choice.word)(&Choices::default()),
            choice.about.trim(),
        ]);
    }
    page.push_str(
        "\n## Scalars\n\nSizes take K, M, G or T and times ns, us, ms or s: `--set readahead=1M`, `--set device_latency=20us`.\n\n\
         | name | unit | assumed | found | what it is |\n|---|---|---|---|---|\n",
    );
    for scalar in Scalar::ALL {
        let row = scalar.row();
        let found = match row.found {
            Found::Fitted(stage, _) => format!("fitted: {}", stage.word()),
            Found::Measured => "measured".to_owned(),
            Found::Declared => "declared".to_owned(),
            Found::Assumed => "-".to_owned(),
        };
        page += &line(&[
            &format!("`{}`", row.name),
            row.unit.word(),
            &row.assumed.to_string(),
            &found,
            row.about,
        ]);
    }
    page.push_str(
        "\n## Curves\n\nStraight lines through the heights at these sizes: `--set far_of=4M:0.2,8M:0.4` sets two of them. A height of 0 is left \
         out.\n\n| name | unit | assumed | fitted | what it is |\n|---|---|---|---|---|\n",
    );
    for curve in Curve::ALL {
        let row = curve.row();
        let points: Vec<String> =
            row.points.iter().map(|(bytes, height, _)| format!("{}:{height}", typed::size(*bytes))).collect();
        let (name, points) = (format!("`{}`", row.name), format!("`{}`", points.join(",")));
        page += &line(&[&name, row.unit.word(), &points, row.stage.word(), row.about]);
    }
    page
}

fn line(cells: &[&str]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_of_the_documentation_is_this() {
        let page = include_str!("../../../../docs/parameters.md");
        assert!(page == super::page(), "fathom net parameters > docs/parameters.md");
    }
}
