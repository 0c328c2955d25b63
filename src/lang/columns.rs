//! Lays lines that stand together out in columns: the sign each is read by, the words before it, the comments behind.

/// A longer beginning of a line does not push the others to the right.
const LONGEST_HEAD: usize = 32;

/// The sign that a line is aligned at: `:` of data, `~` or `=` of everything else.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    /// Column of the sign, in characters.
    pub column: usize,
    pub data: bool,
    /// Length of the statement's first word; 0 where that is a name.
    pub word: usize,
}

/// One line without its place in the columns.
pub(super) enum Row {
    Blank,
    /// A comment that stands alone, indented.
    Comment(String),
    Code {
        text: String,
        mark: Option<Mark>,
        /// A statement starts here.
        first: bool,
        comment: Option<String>,
    },
}

/// The text of all rows. Rows between blank lines and lone comments share their columns; where `words`, the names
/// behind the first words of statements stand in a column too.
pub(super) fn align(mut rows: Vec<Row>, words: bool) -> String {
    let mut out = String::new();
    for block in rows.chunk_by_mut(|a, b| matches!((a, b), (Row::Code { .. }, Row::Code { .. }))) {
        if words {
            pad_words(block);
        }
        pad_marks(block);
        let commented = |row: &Row| match row {
            Row::Code { text, comment: Some(_), .. } => Some(text.chars().count()),
            _ => None,
        };
        let comments = block.iter().filter_map(commented).max().unwrap_or(0) + 2;
        for row in block {
            match row {
                Row::Blank => {}
                Row::Comment(text) => out.push_str(text),
                Row::Code { text, comment, .. } => {
                    out.push_str(text);
                    if let Some(comment) = comment {
                        out.push_str(&" ".repeat(comments - text.chars().count()));
                        out.push_str(comment);
                    }
                }
            }
            out.push('\n');
        }
    }
    out
}

/// Brings the names behind the first words into a column.
fn pad_words(block: &mut [Row]) {
    let word = |row: &Row| match row {
        Row::Code { mark: Some(mark), .. } if !mark.data => mark.word,
        _ => 0,
    };
    let widest = block.iter().map(word).max().unwrap_or(0);
    insert(block, |mark| if mark.word > 0 && !mark.data { Some((mark.word, widest)) } else { None });
}

/// Brings the signs into a column, those of data into one of their own.
fn pad_marks(block: &mut [Row]) {
    for data in [true, false] {
        let head = |row: &Row| match row {
            Row::Code { mark: Some(mark), .. } if mark.data == data && mark.column <= LONGEST_HEAD => mark.column,
            _ => 0,
        };
        let widest = block.iter().map(head).max().unwrap_or(0);
        insert(block, |mark| if mark.data == data { Some((mark.column, widest)) } else { None });
    }
}

/// Moves what stands from a column on to another column to its right; `columns` gives both, for the rows that take part.
/// The lines that go on with a statement move with it.
fn insert(block: &mut [Row], columns: impl Fn(&Mark) -> Option<(usize, usize)>) {
    let mut moved = 0;
    for row in block {
        let Row::Code { text, mark, first, .. } = row else { continue };
        if *first {
            let pair = mark.as_ref().and_then(&columns);
            moved = pair.map_or(0, |(from, to)| to.saturating_sub(from));
            if let (Some((from, _)), Some(mark)) = (pair, mark) {
                let at = text.char_indices().nth(from).map_or(text.len(), |(i, _)| i);
                text.insert_str(at, &" ".repeat(moved));
                mark.column += moved;
            }
        } else {
            text.insert_str(0, &" ".repeat(moved));
        }
    }
}
